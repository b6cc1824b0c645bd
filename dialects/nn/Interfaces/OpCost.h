//===- OpCost.h - what an op costs on one device ----------------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_INTERFACES_OPCOST_H
#define PDC_DIALECTS_NN_INTERFACES_OPCOST_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <utility>

namespace pdc::nn {

/// Of the op as written, with its static shapes: a split op is asked again with its local shapes.
struct OpCost {
  double flops = 0;        // floating-point operations; a multiply-add counts as two
  double bytesRead = 0;    // from operands, each element once
  double bytesWritten = 0; // to results
  double bytesTemporary = 0;
};

/// One operand of a library call: a value of the op, seen as a strided view (no data moves).
///
/// `dims` has one entry per dimension of the view: the dimensions of the value that it runs over, major to
/// minor; more than one means that they are collapsed, none that the view's dimension has size one. Every
/// dimension of the value appears once. Examples, for a value x [b, t, d]:
///     {{0, 1}, {2}}   [b * t, d]: rows flattened
///     {{2}, {0, 1}}   [d, b * t]: its transpose
///     {{0}, {1}, {2}} x itself
/// Collapsed dimensions must be dense with respect to each other (stride[0] == size[1] * stride[1]). Values
/// are dense and row-major unless they are views themselves (a transpose that was not materialized); where a
/// collapse then has no strides, the value is copied into dense form first.
struct LibraryOperand {
  unsigned value; // index into the op's operands, followed by its results
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 4> dims;
};

/// A call into runtime/kernels: the registry name there, its operands and its attributes.
struct LibraryCall {
  std::string name;
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<int64_t>>> integers;
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<double>>> floats;
  /// The call's operands in its order, results last. Empty: the op's operands, then its results, as they are.
  llvm::SmallVector<LibraryOperand, 4> operands;
  /// The call may take operands as arbitrary strided views (otherwise they are dense row-major).
  bool stridedOperands = false;
  /// The results must hold zeros before the call (calls that accumulate).
  bool zeroResults = false;
};

/// When an op is replaced by simpler ones.
enum class DecomposeStage {
  BeforeAutodiff, // its gradient is that of its parts (attention, batch_norm, losses)
  BeforeFusion    // it has a gradient of its own; its parts become one generated kernel (layer_norm, softmax)
};

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_INTERFACES_OPCOST_H
