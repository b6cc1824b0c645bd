//===- PipelinePass.h - micro-batches and stages ----------------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_PIPELINEPASS_H
#define PDC_PASSES_PIPELINE_PIPELINEPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/pipeline/PipelinePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/pipeline/PipelinePass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_PIPELINEPASS_H
