//===- ScalarTraits.h - what an elementwise op costs per element -*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_ANALYSIS_SCALARTRAITS_H
#define PDC_DIALECTS_NN_ANALYSIS_SCALARTRAITS_H

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"

namespace pdc::nn {

/// The type that generated code computes in: f32 for bf16 and f16, signless for unsigned integers, else the
/// same.
mlir::Type getComputeType(mlir::Type elementType);

struct ScalarTraits {
  bool usesPosition = false; // the value depends on the element's index
  int instructions = 0; // about how many vector instructions an element takes: 1 for an addition, 12 for exp
  int flops = 0;        // floating-point operations; a transcendental function counts as one
};

/// Of an op with ElementwiseOpInterface, found by building its scalar computation once. Other ops: all zero.
/// Needs the dialects arith and math to be loaded.
ScalarTraits getScalarTraits(mlir::Operation *op);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_ANALYSIS_SCALARTRAITS_H
