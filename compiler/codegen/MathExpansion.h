//===- MathExpansion.h - transcendental functions as arithmetic -*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_MATHEXPANSION_H
#define PDC_COMPILER_CODEGEN_MATHEXPANSION_H

namespace mlir {
class Operation;
}

namespace pdc::codegen {

/// Replaces exp, log, tanh and erf of f32 below `root` by branch-free polynomials that vectorize; at most 4
/// units in the last place off, with the right values at infinities and NaN. Of f64, erf becomes a call of
/// libm (the others are left: LLVM calls libm for them).
void expandMath(mlir::Operation *root);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_MATHEXPANSION_H
