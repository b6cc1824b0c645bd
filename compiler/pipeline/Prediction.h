//===- Prediction.h - what a planned step takes, before it is compiled -*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_PREDICTION_H
#define PDC_COMPILER_PIPELINE_PREDICTION_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/SearchOutcome.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// The training step of a module with a plan (inference where there is no training): lowered to rank programs, with the
/// micro-batches and stages of `options`, and simulated on the cluster. It is what the report of the finished executable
/// predicts, but no kernel is compiled and no other step is lowered. `module` is used up.
llvm::FailureOr<plan::StepPrediction> predictStep(mlir::ModuleOp module, const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_PREDICTION_H
