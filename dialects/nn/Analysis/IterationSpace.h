//===- IterationSpace.h - the loops of a generated kernel -------*- C++ -*-===//
//
// A group of elementwise ops, broadcasts, reductions and constants can be one kernel when all of it runs over
// one set of loops. This analysis finds those loops, or says why there are none. `fuse` asks it what may be
// grouped, code generation follows its answer.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_ANALYSIS_ITERATIONSPACE_H
#define PDC_DIALECTS_NN_ANALYSIS_ITERATIONSPACE_H

#include "mlir/IR/Value.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace pdc::nn {

/// A set of loops, as bits.
using LoopSet = uint64_t;

struct IterationSpace {
  /// Trip counts, outermost first; all larger than one.
  llvm::SmallVector<int64_t, 4> sizes;
  /// Per dimension of a value the loop that it runs over, or -1 where its size is one.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int, 4>> loops;
  /// The loops that the group's reductions reduce; the same for each of them. 0: it has no reduction.
  LoopSet reduced = 0;

  /// The loops that `value`, an operand or result of one of the ops, runs over.
  LoopSet loopsOf(mlir::Value value) const;
};

/// The loops of `ops` (in program order; terminators are skipped), with static shapes. Fails, and says why in
/// `reason`, where the ops cannot be one loop nest: an op of another kind, reductions over different
/// dimensions, dimensions that would have to be transposed, no value that runs over all loops.
mlir::FailureOr<IterationSpace> getIterationSpace(llvm::ArrayRef<mlir::Operation *> ops, std::string &reason);

/// Whether `op` is of a kind that generated kernels are made of. A reshape is where it only adds or drops
/// dimensions of size one.
bool isFusible(mlir::Operation *op);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_ANALYSIS_ITERATIONSPACE_H
