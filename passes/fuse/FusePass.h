//===- FusePass.h - groups of ops become kernels ----------------*- C++ -*-===//
#ifndef PDC_PASSES_FUSE_FUSEPASS_H
#define PDC_PASSES_FUSE_FUSEPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/fuse/FusePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/fuse/FusePass.h.inc"

/// Holds after `fuse`: below `root`, what generated kernels are made of stands in an `nn.fusion` only
/// (reshapes aside), nothing composite is left, and each fusion is one loop nest. Emits an error for each op
/// that breaks it.
mlir::LogicalResult verifyFused(mlir::Operation *root);

} // namespace pdc::passes

#endif // PDC_PASSES_FUSE_FUSEPASS_H
