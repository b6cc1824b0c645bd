//===- TensorMath.h - formulas as ops ---------------------------*- C++ -*-===//
#ifndef PDC_PASSES_AUTODIFF_OPTIMIZERS_TENSORMATH_H
#define PDC_PASSES_AUTODIFF_OPTIMIZERS_TENSORMATH_H

#include "mlir/IR/Builders.h"

namespace pdc::passes {

/// Writes formulas on f32 tensors as nn ops at one place and location. Scalars (rank 0) broadcast against
/// tensors.
class TensorMath {
public:
  TensorMath(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value scalar(double value); ///< a constant of rank 0
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, double b) { return add(a, scalar(b)); }
  mlir::Value mul(mlir::Value a, double b) { return mul(a, scalar(b)); }
  mlir::Value square(mlir::Value a);
  mlir::Value sqrt(mlir::Value a);
  mlir::Value exp(mlir::Value a);
  mlir::Value sumOfSquares(mlir::Value a); ///< over all elements: rank 0
  mlir::Value norm(mlir::Value a);         ///< sqrt(sumOfSquares(a))
  /// a * x + b * y with constants a and b, as exponential averages are.
  mlir::Value combine(double a, mlir::Value x, double b, mlir::Value y);
  /// `replacement` where the scalar `a` is zero, else `otherwise`; all rank 0.
  mlir::Value ifZero(mlir::Value a, mlir::Value replacement, mlir::Value otherwise);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace pdc::passes

#endif // PDC_PASSES_AUTODIFF_OPTIMIZERS_TENSORMATH_H
