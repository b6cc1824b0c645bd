//===- AdamW.cpp - Adam with decoupled weight decay -----------------------===//
//
//   u, m', v' = Adam's direction for g   (see buildAdamDirection)
//   p' = p - lr (u + wd p)
//
// optax.adamw(lr, beta1, beta2, epsilon, weight_decay=wd, mask=...), whose default wd is 1e-4 too. Loshchilov
// and Hutter 2019. Slots "m" and "v".
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/optimizers/Optimizer.h"

using namespace pdc::passes;

static UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input, HyperparameterValues values) {
  AdamDirection adam = buildAdamDirection(math, input, input.gradient, values[0], values[1], values[2]);
  mlir::Value update = addDecay(math, adam.update, input, /*weightDecay=*/values[3]);
  return {math.sub(input.parameter, math.mul(update, input.learningRate)),
          {adam.firstMoment, adam.secondMoment}};
}

static constexpr Hyperparameter hyperparameters[] = {
    {"beta1", 0.9, 0, 1}, {"beta2", 0.999, 0, 1}, {"epsilon", 1e-8}, {"weight_decay", 1e-4}};
static constexpr llvm::StringLiteral slots[] = {"m", "v"};

const OptimizerInfo pdc::passes::adamwOptimizer = {"adamw", hyperparameters, slots, buildUpdate};
