//===- Lamb.cpp - layer-wise adaptive moments for batch training ----------===//
//
//   a, m', v' = Adam's direction for g   (see buildAdamDirection)
//   u  = a + wd p
//   r  = |p| / |u|, or 1 where |p| or |u| is 0
//   p' = p - lr r u
//
// optax.lamb(lr, beta1, beta2, epsilon, weight_decay=wd, mask=...). You et al. 2020. The ratio applies to
// every parameter, as in Optax. Slots "m" and "v".
//
//===----------------------------------------------------------------------===//
#include "passes/autodiff/optimizers/Optimizer.h"

using namespace pdc::passes;

static UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input, HyperparameterValues values) {
  AdamDirection adam = buildAdamDirection(math, input, input.gradient, values[0], values[1], values[2]);
  mlir::Value update = addDecay(math, adam.update, input, /*weightDecay=*/values[3]);
  mlir::Value ratio = trustRatio(math, input.parameter, update, /*coefficient=*/1, /*epsilon=*/0);
  mlir::Value rate = math.mul(input.learningRate, ratio);
  return {math.sub(input.parameter, math.mul(update, rate)), {adam.firstMoment, adam.secondMoment}};
}

static constexpr Hyperparameter hyperparameters[] = {
    {"beta1", 0.9, 0, 1}, {"beta2", 0.999, 0, 1}, {"epsilon", 1e-6}, {"weight_decay", 0}};
static constexpr llvm::StringLiteral slots[] = {"m", "v"};

const OptimizerInfo pdc::passes::lambOptimizer = {"lamb", hyperparameters, slots, buildUpdate};
