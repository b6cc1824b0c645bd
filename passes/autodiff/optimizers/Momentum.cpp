//===- Momentum.cpp - gradient descent with momentum ----------------------===//
//
//   d  = g + wd p
//   m' = momentum m + d
//   p' = p - lr m'                       (Polyak 1964)
//   p' = p - lr (d + momentum m')        with nesterov=1 (Sutskever et al. 2013)
//
// optax.chain(add_decayed_weights(wd), sgd(lr, momentum, nesterov)). Slot "momentum" is m.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/optimizers/Optimizer.h"

using namespace pdc::passes;

static UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input, HyperparameterValues values) {
  double momentum = values[0];
  bool nesterov = values[1] != 0;
  mlir::Value direction = addDecay(math, input.gradient, input, /*weightDecay=*/values[2]);
  mlir::Value trace = math.add(math.mul(input.slots[0], momentum), direction);
  mlir::Value update = nesterov ? math.add(direction, math.mul(trace, momentum)) : trace;
  return {math.sub(input.parameter, math.mul(update, input.learningRate)), {trace}};
}

static constexpr Hyperparameter hyperparameters[] = {
    {"momentum", 0.9, 0, 1}, {"nesterov", 0}, {"weight_decay", 0}};
static constexpr llvm::StringLiteral slots[] = {"momentum"};

const OptimizerInfo pdc::passes::momentumOptimizer = {"momentum", hyperparameters, slots, buildUpdate};
