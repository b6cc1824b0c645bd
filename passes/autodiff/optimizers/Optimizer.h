//===- Optimizer.h - how parameters move ------------------------*- C++ -*-===//
//
// Each optimizer is one file that holds its formula, its hyperparameters and its slots. Formulas are those of
// Optax (https://github.com/google-deepmind/optax), so that results can be compared; all of it is f32.
// Symbols:
//   p  parameter        g  its gradient (clipped, if clipping is on)        lr  learning rate        t  step,
//   first is 1 wd weight_decay, which is 0 for a parameter of rank 0 or 1, or with `no_decay` |x| Euclidean
//   norm over all elements
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H
#define PDC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H

#include "passes/autodiff/optimizers/TensorMath.h"
#include <limits>
#include <memory>

namespace pdc::passes {

/// A number that a person may set: `name=value`, with `low <= value < high`.
struct Hyperparameter {
  llvm::StringLiteral name;
  double defaultValue;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};

/// Values in the order in which an optimizer declares its hyperparameters.
using HyperparameterValues = llvm::ArrayRef<double>;

/// What one parameter's update starts from; tensors of the parameter's shape, scalars of rank 0.
struct UpdateInput {
  mlir::Value parameter;
  mlir::Value gradient;
  llvm::SmallVector<mlir::Value> slots; // in the order of OptimizerInfo::slots
  mlir::Value learningRate;
  mlir::Value step;
  bool decays; // whether weight decay applies to this parameter
};

/// The new values.
struct UpdateResult {
  mlir::Value parameter;
  llvm::SmallVector<mlir::Value> slots;
};

/// An optimizer. Slots are optimizer state of the parameter's shape; all begin with zeros.
struct OptimizerInfo {
  llvm::StringLiteral name;
  llvm::ArrayRef<Hyperparameter> hyperparameters;
  llvm::ArrayRef<llvm::StringLiteral> slots;
  UpdateResult (*buildUpdate)(TensorMath &math, const UpdateInput &input, HyperparameterValues values);
};

extern const OptimizerInfo sgdOptimizer;
extern const OptimizerInfo momentumOptimizer;
extern const OptimizerInfo adamOptimizer;
extern const OptimizerInfo adamwOptimizer;
extern const OptimizerInfo larsOptimizer;
extern const OptimizerInfo lambOptimizer;

/// Every optimizer, in the order of their documentation.
llvm::ArrayRef<const OptimizerInfo *> getOptimizers();

/// An optimizer with its hyperparameters set.
struct Optimizer {
  const OptimizerInfo *info = nullptr;
  llvm::SmallVector<double> values;

  UpdateResult buildUpdate(TensorMath &math, const UpdateInput &input) const {
    return info->buildUpdate(math, input, values);
  }
};

/// The optimizer `name` with `settings` of the form "beta1=0.9". Unknown names, hyperparameters that the
/// optimizer does not have, and values outside of their range are errors that say what there is.
mlir::FailureOr<Optimizer> createOptimizer(llvm::StringRef name, llvm::ArrayRef<std::string> settings,
                                           llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

//===----------------------------------------------------------------------===//
// Parts that several optimizers share
//===----------------------------------------------------------------------===//

/// Adam's direction and its new moments (Kingma and Ba 2015), optax.scale_by_adam:
///   m' = beta1 m + (1 - beta1) g          v' = beta2 v + (1 - beta2) g^2
///   u  = (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + epsilon)
struct AdamDirection {
  mlir::Value update, firstMoment, secondMoment;
};
AdamDirection buildAdamDirection(TensorMath &math, const UpdateInput &input, mlir::Value gradient,
                                 double beta1, double beta2, double epsilon);

/// g + wd p, or g itself without decay: optax.add_decayed_weights.
mlir::Value addDecay(TensorMath &math, mlir::Value gradient, const UpdateInput &input, double weightDecay);

/// coefficient |p| / (|u| + epsilon), or 1 where |p| or |u| is 0: optax.scale_by_trust_ratio. Rank 0.
mlir::Value trustRatio(TensorMath &math, mlir::Value parameter, mlir::Value update, double coefficient,
                       double epsilon);

} // namespace pdc::passes

#endif // PDC_PASSES_AUTODIFF_OPTIMIZERS_OPTIMIZER_H
