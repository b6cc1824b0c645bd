//===- InPlace.h - results computed in the memory of an operand -*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_ANALYSIS_INPLACE_H
#define PDC_DIALECTS_NN_ANALYSIS_INPLACE_H

#include "dialects/nn/Analysis/IterationSpace.h"

namespace pdc::nn {

/// Whether the value `to` of a fusion's body may be stored over `from`, one of the body's arguments: it has
/// the type of `from`, the same iteration stores and reads an element, and nothing reads `from` in a later
/// phase of the kernel. A phase ends where a reduction is complete.
bool canComputeInPlace(mlir::Block &body, const IterationSpace &space, mlir::Value from, mlir::Value to);

/// How many reductions, one after the other, must be complete before each value of the body can be computed.
llvm::DenseMap<mlir::Value, int> getReductionPhases(mlir::Block &body, const IterationSpace &space);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_ANALYSIS_INPLACE_H
