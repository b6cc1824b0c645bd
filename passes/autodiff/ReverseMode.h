//===- ReverseMode.h - gradients of a scalar --------------------*- C++ -*-===//
#ifndef PDC_PASSES_AUTODIFF_REVERSEMODE_H
#define PDC_PASSES_AUTODIFF_REVERSEMODE_H

#include "mlir/IR/Builders.h"

namespace pdc::passes {

/// Reverse-mode differentiation (Linnainmaa 1970; Griewank and Walther 2008, chapter 3) of straight-line
/// code: builds at `builder`, after all ops of the block that holds `loss`, the gradients of the scalar
/// `loss` with respect to `sources`, and returns one value per source, of its type, or null where the loss
/// does not depend on it.
///
/// Gradient ops come in the reverse order of the ops they belong to, and several gradients of one value are
/// added as soon as each exists, so that a gradient is complete, and the values it was made from are dead, as
/// early as possible.
///
/// `onGradient`, where given, is called with each value and its complete gradient, values that are computed later first.
///
/// Fails with an error that names the op where the loss depends on a source through an op without a gradient.
/// `nameOf` names a source for that message. Leaves ops that nothing uses.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::OpBuilder &builder, mlir::Value loss, mlir::ValueRange sources,
               llvm::function_ref<std::string(mlir::Value)> nameOf,
               llvm::function_ref<void(mlir::Value, mlir::Value)> onGradient = {});

} // namespace pdc::passes

#endif // PDC_PASSES_AUTODIFF_REVERSEMODE_H
