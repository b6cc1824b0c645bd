//===- FitMemory.h - plans until one fits into memory -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_FITMEMORY_H
#define PDC_COMPILER_PIPELINE_FITMEMORY_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/SearchOutcome.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/LogicalResult.h"
#include <functional>
#include <optional>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// Plans a module and lowers it to the rt form, as the options ask for; what a search did goes to the outcome.
using PlanAndLower = llvm::function_ref<llvm::LogicalResult(const CompileOptions &options,
                                                           std::optional<plan::SearchOutcome> &outcome)>;

/// Remembers what PlanAndLower left beside the module and the outcome; what it returns brings that back.
using Snapshot = llvm::function_ref<std::function<void()>()>;

/// Runs `planAndLower` on `module`, and again from the same module where the plan's arenas turn out to exceed
/// options.memoryLimitBytes. A search counts values that are kept; what reshards bring and ops need meanwhile is known
/// only when memory has been planned. So the next search may count that much less; where that is too little for any
/// plan, counts between the least one and the last that did not fit are tried, a few in all. Where nothing fits the
/// error says by how much, and which plan came closest; a plan that was not searched is refused at once. Where a plan that fits
/// computes again what it does not keep, and nobody asked for that, the fastest one that keeps everything is tried as well.
llvm::LogicalResult planWithinMemory(mlir::ModuleOp module, const CompileOptions &options,
                                     std::optional<plan::SearchOutcome> &outcome, PlanAndLower planAndLower,
                                     Snapshot snapshot);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_FITMEMORY_H
