//===- Optimizer.cpp - the registry of optimizers, and their shared parts -===//

#include "passes/autodiff/optimizers/Optimizer.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace pdc::passes;

ArrayRef<const OptimizerInfo *> pdc::passes::getOptimizers() {
  static const OptimizerInfo *const optimizers[] = {&sgdOptimizer,   &momentumOptimizer, &adamOptimizer,
                                                    &adamwOptimizer, &larsOptimizer,     &lambOptimizer};
  return optimizers;
}

/// "0.9", where a diagnostic would print 9.000000e-01.
static std::string textOf(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

static LogicalResult applySetting(Optimizer &optimizer, StringRef setting,
                                  function_ref<InFlightDiagnostic()> emitError) {
  auto [name, text] = setting.split('=');
  const OptimizerInfo &info = *optimizer.info;
  const Hyperparameter *parameter =
      llvm::find_if(info.hyperparameters, [&](auto &h) { return h.name == name; });
  if (parameter == info.hyperparameters.end()) {
    InFlightDiagnostic error = emitError() << "optimizer '" << info.name << "' has no hyperparameter '"
                                           << name << "'; it has ";
    llvm::interleave(info.hyperparameters, [&](auto &h) { error << h.name; }, [&] { error << ", "; });
    return error;
  }
  double value = 0;
  if (text.getAsDouble(value) || !std::isfinite(value))
    return emitError() << "hyperparameter '" << name << "' of optimizer '" << info.name
                       << "' needs a number, as in " << name << "=" << textOf(parameter->defaultValue) << "; got '"
                       << text << "'";
  if (value < parameter->low || value >= parameter->high) {
    InFlightDiagnostic error = emitError() << "hyperparameter '" << name << "' of optimizer '" << info.name
                                           << "' must be at least " << textOf(parameter->low);
    if (std::isfinite(parameter->high))
      error << " and below " << textOf(parameter->high);
    return error << ", got " << text;
  }
  optimizer.values[parameter - info.hyperparameters.begin()] = value;
  return success();
}

FailureOr<Optimizer> pdc::passes::createOptimizer(StringRef name, ArrayRef<std::string> settings,
                                                  function_ref<InFlightDiagnostic()> emitError) {
  Optimizer optimizer;
  for (const OptimizerInfo *info : getOptimizers())
    if (info->name == name)
      optimizer.info = info;
  if (!optimizer.info) {
    InFlightDiagnostic error = emitError() << "unknown optimizer '" << name << "'; there are ";
    llvm::interleave(getOptimizers(), [&](auto *info) { error << info->name; }, [&] { error << ", "; });
    return error;
  }
  for (const Hyperparameter &parameter : optimizer.info->hyperparameters)
    optimizer.values.push_back(parameter.defaultValue);
  for (const std::string &setting : settings)
    if (failed(applySetting(optimizer, setting, emitError)))
      return failure();
  return optimizer;
}

/// 1 - beta^t for the scalar t, as 1 - exp(t log beta).
static Value biasCorrection(TensorMath &math, Value step, double beta) {
  if (beta == 0)
    return math.scalar(1);
  return math.sub(math.scalar(1), math.exp(math.mul(step, std::log(beta))));
}

AdamDirection pdc::passes::buildAdamDirection(TensorMath &math, const UpdateInput &input, Value gradient,
                                              double beta1, double beta2, double epsilon) {
  AdamDirection result;
  result.firstMoment = math.combine(beta1, input.slots[0], 1 - beta1, gradient);
  result.secondMoment = math.combine(beta2, input.slots[1], 1 - beta2, math.square(gradient));
  Value mean = math.div(result.firstMoment, biasCorrection(math, input.step, beta1));
  Value variance = math.div(result.secondMoment, biasCorrection(math, input.step, beta2));
  result.update = math.div(mean, math.add(math.sqrt(variance), epsilon));
  return result;
}

Value pdc::passes::addDecay(TensorMath &math, Value gradient, const UpdateInput &input, double weightDecay) {
  if (!input.decays || weightDecay == 0)
    return gradient;
  return math.add(gradient, math.mul(input.parameter, weightDecay));
}

Value pdc::passes::trustRatio(TensorMath &math, Value parameter, Value update, double coefficient,
                              double epsilon) {
  Value parameterNorm = math.norm(parameter);
  Value updateNorm = math.norm(update);
  Value divisor = epsilon == 0 ? updateNorm : math.add(updateNorm, epsilon);
  Value scaled = coefficient == 1 ? parameterNorm : math.mul(parameterNorm, coefficient);
  Value one = math.scalar(1);
  return math.ifZero(parameterNorm, one, math.ifZero(updateNorm, one, math.div(scaled, divisor)));
}
