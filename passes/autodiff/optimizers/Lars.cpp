//===- Lars.cpp - layer-wise adaptive rate scaling ------------------------===//
//
//   d  = g + wd p
//   r  = trust_coefficient |p| / (|d| + epsilon), or 1 where |p| or |d| is 0
//   u  = lr r d
//   m' = momentum m + u
//   p' = p - m'                          or  p - (u + momentum m')  with nesterov=1
//
// optax.lars(lr, wd, weight_decay_mask, trust_coefficient, epsilon, trust_ratio_mask, momentum, nesterov).
// You, Gitman and Ginsburg 2017. A parameter that is exempt from decay is exempt from the ratio too (r = 1;
// both masks are the same), as in that paper's experiments: a bias that begins with zeros would hardly move.
// Slot "momentum" is m, which contains the learning rate.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/optimizers/Optimizer.h"

using namespace pdc::passes;

static UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input, HyperparameterValues values) {
  double momentum = values[0];
  bool nesterov = values[1] != 0;
  mlir::Value direction = addDecay(math, input.gradient, input, /*weightDecay=*/values[2]);
  mlir::Value rate = input.learningRate;
  if (input.decays)
    rate = math.mul(rate, trustRatio(math, input.parameter, direction, /*coefficient=*/values[3],
                                     /*epsilon=*/values[4]));
  mlir::Value update = math.mul(direction, rate);
  mlir::Value trace = math.add(math.mul(input.slots[0], momentum), update);
  mlir::Value step = nesterov ? math.add(update, math.mul(trace, momentum)) : trace;
  return {math.sub(input.parameter, step), {trace}};
}

static constexpr Hyperparameter hyperparameters[] = {{"momentum", 0.9, 0, 1},
                                                     {"nesterov", 0},
                                                     {"weight_decay", 0},
                                                     {"trust_coefficient", 0.001},
                                                     {"epsilon", 0}};
static constexpr llvm::StringLiteral slots[] = {"momentum"};

const OptimizerInfo pdc::passes::larsOptimizer = {"lars", hyperparameters, slots, buildUpdate};
