//===- Sgd.cpp - stochastic gradient descent ------------------------------===//
//
//   p' = p - lr (g + wd p)
//
// optax.chain(add_decayed_weights(wd), sgd(lr)). Robbins and Monro 1951.
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/optimizers/Optimizer.h"

using namespace pdc::passes;

static UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input, HyperparameterValues values) {
  mlir::Value update = addDecay(math, input.gradient, input, /*weightDecay=*/values[0]);
  return {math.sub(input.parameter, math.mul(update, input.learningRate)), {}};
}

static constexpr Hyperparameter hyperparameters[] = {{"weight_decay", 0}};

const OptimizerInfo pdc::passes::sgdOptimizer = {"sgd", hyperparameters, {}, buildUpdate};
