//===- StageCut.h - where a chain of ops is cut into stages -----*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_STAGECUT_H
#define PDC_PASSES_PIPELINE_STAGECUT_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace pdc::passes {

/// Cuts ops in a row into parts that follow each other, none of them empty, so that the slowest takes least time
/// (of equally good cuts, the one whose parts' squares add up to least). A part takes the time of its ops, times the
/// slowness of what computes it, and of the messages at its borders: `secondsOfCut[i]` of a cut before op i. Exact, by dynamic programming: O(parts * ops^2).
/// Returns where the parts begin; needs at least as many ops as parts.
std::vector<int64_t> cutEvenly(llvm::ArrayRef<double> secondsOfOp, llvm::ArrayRef<double> secondsOfCut,
                               llvm::ArrayRef<double> slownessOfPart);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_STAGECUT_H
