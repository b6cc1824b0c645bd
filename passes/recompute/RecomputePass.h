//===- RecomputePass.h - activations that are not kept ----------*- C++ -*-===//
#ifndef PDC_PASSES_RECOMPUTE_RECOMPUTEPASS_H
#define PDC_PASSES_RECOMPUTE_RECOMPUTEPASS_H

#include "dialects/dist/IR/PipelineAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/recompute/RecomputePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/recompute/RecomputePass.h.inc"

/// What the module says its stages compute again (dist.recompute); empty where it says nothing. Emits an error where that is
/// no list of words, one for each of `stages`.
mlir::FailureOr<llvm::SmallVector<dist::Recompute>> getRecompute(mlir::ModuleOp module, int64_t stages);

} // namespace pdc::passes

#endif // PDC_PASSES_RECOMPUTE_RECOMPUTEPASS_H
