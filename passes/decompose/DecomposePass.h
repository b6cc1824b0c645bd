//===- DecomposePass.h - composite ops become simpler ones ------*- C++ -*-===//
#ifndef PDC_PASSES_DECOMPOSE_DECOMPOSEPASS_H
#define PDC_PASSES_DECOMPOSE_DECOMPOSEPASS_H

#include "dialects/nn/Interfaces/OpCost.h"
#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/decompose/DecomposePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/decompose/DecomposePass.h.inc"

/// Replaces the ops below `root` whose stage is `stage` or an earlier one, and in turn those that they
/// become. Fails with an error where an op cannot be decomposed.
mlir::LogicalResult decomposeOps(mlir::Operation *root, pdc::nn::DecomposeStage stage);

} // namespace pdc::passes

#endif // PDC_PASSES_DECOMPOSE_DECOMPOSEPASS_H
