//===- Adam.cpp - adaptive moments ----------------------------------------===//
//
//   d  = g + wd p                        (decay as a part of the gradient; AdamW decouples it)
//   u, m', v' = Adam's direction for d   (see buildAdamDirection)
//   p' = p - lr u
//
// optax.chain(add_decayed_weights(wd), adam(lr, beta1, beta2, epsilon)). Kingma and Ba 2015. Slots "m" and
// "v".
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/optimizers/Optimizer.h"

using namespace pdc::passes;

static UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input, HyperparameterValues values) {
  mlir::Value gradient = addDecay(math, input.gradient, input, /*weightDecay=*/values[3]);
  AdamDirection adam = buildAdamDirection(math, input, gradient, values[0], values[1], values[2]);
  return {math.sub(input.parameter, math.mul(adam.update, input.learningRate)),
          {adam.firstMoment, adam.secondMoment}};
}

static constexpr Hyperparameter hyperparameters[] = {
    {"beta1", 0.9, 0, 1}, {"beta2", 0.999, 0, 1}, {"epsilon", 1e-8}, {"weight_decay", 0}};
static constexpr llvm::StringLiteral slots[] = {"m", "v"};

const OptimizerInfo pdc::passes::adamOptimizer = {"adam", hyperparameters, slots, buildUpdate};
