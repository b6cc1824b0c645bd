//===- FitMemory.h - plans until one fits into memory -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_FITMEMORY_H
#define PDC_COMPILER_PIPELINE_FITMEMORY_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/SearchOutcome.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"
#include <functional>
#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// One of the two parts of a compilation that change a module; what a search did goes to the outcome.
using PlanningStep = llvm::function_ref<llvm::LogicalResult(const CompileOptions &options,
                                                            std::optional<plan::SearchOutcome> &outcome)>;

/// How a module is planned, and how its plan is lowered to the rt form, as the options ask for.
struct PlanningSteps {
  PlanningStep plan, lower;
  /// Remembers what `lower` left beside the module and the outcome; what it returns brings that back.
  llvm::function_ref<std::function<void()>()> snapshot;
};

/// Plans `module` and lowers it, and again from the same module where the plan's arenas turn out to exceed
/// options.memoryLimitBytes. A search counts values that are kept; what reshards bring and ops need meanwhile is known
/// only when memory has been planned. So the next search may count that much less; where that is too little for any
/// plan, counts between the least one and the last that did not fit are tried, a few in all. Where nothing fits the
/// error says by how much, and which plan came closest; a plan that was not searched is refused at once.
///
/// Where what is computed again is searched, counts of it can be off in either direction. Where a plan that fits computes
/// something again, the fastest one that keeps everything is tried as well; and of plans that do not fit, the closest and the
/// first are lowered with each word for all stages, and each stage takes the first word with which it fits.
llvm::LogicalResult planWithinMemory(mlir::ModuleOp module, const CompileOptions &options,
                                     std::optional<plan::SearchOutcome> &outcome, const PlanningSteps &steps);

/// What can still be asked for so that a program needs less memory, for errors: "lower --batch, or use more ranks". `trains`:
/// it has a backward pass; `stages`: of its pipeline; `recomputes`: what is computed again is given.
std::string waysToNeedLess(const CompileOptions &options, bool trains, int64_t stages, bool recomputes);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_FITMEMORY_H
