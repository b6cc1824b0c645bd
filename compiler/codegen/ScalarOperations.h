//===- ScalarOperations.h - what generated code computes --------*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_SCALAROPERATIONS_H
#define PDC_COMPILER_CODEGEN_SCALAROPERATIONS_H

namespace mlir {
class Operation;
}

namespace pdc::codegen {

/// Scalar operations of vector code in one run of an op as a part of a generated kernel: an elementwise op takes its
/// computation for every element of the result, transcendental functions as their polynomials; a reduction one operation
/// for every element that it reads. An op that is fused by its parts is counted by them. 0 for other ops.
double countScalarOperations(mlir::Operation *op);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_SCALAROPERATIONS_H
