//===- Compare.h - ways to split one model, side by side --------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_COMPARE_H
#define PDC_COMPILER_PIPELINE_COMPARE_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/SearchOutcome.h"
#include "llvm/Support/LogicalResult.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// One line of a comparison.
struct ComparedPlan {
  std::string preset; // as --parallel says it
  std::string why;    // no plan: the reason; else empty
  std::optional<plan::SearchOutcome> outcome;
};

/// Plans the model in each of the ways, on `options.cluster`, by the same costs. A way that cannot be taken is a line
/// that says why. Times and memory are those that the search counts.
llvm::FailureOr<std::vector<ComparedPlan>> comparePlans(mlir::ModuleOp module, const CompileOptions &options,
                                                        const std::vector<std::string> &presets);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_COMPARE_H
