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

/// A call into runtime/kernels: the registry name there and its attributes.
struct LibraryCall {
  std::string name;
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<int64_t>>> integers;
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<double>>> floats;
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
