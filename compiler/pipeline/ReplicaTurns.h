//===- ReplicaTurns.h - parts of micro-batches, or whole ones in turn -*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_REPLICATURNS_H
#define PDC_COMPILER_PIPELINE_REPLICATURNS_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/Exchange.h"
#include "compiler/plan/SearchOutcome.h"
#include "mlir/IR/BuiltinOps.h"

namespace pdc::pipeline {

/// Plans a module by these options. What a search does goes to the outcome.
using Planner =
    llvm::function_ref<llvm::LogicalResult(mlir::ModuleOp, const CompileOptions &, std::optional<plan::SearchOutcome> &)>;

/// Plans a module. Where stages have different numbers of replicas, and the schedule leaves open what those do, it simulates the
/// step with replicas that share each micro-batch, and with replicas that take whole ones in turn (PipeDream's round-robin), and
/// has the module state the faster one of those that fit into memory, and what both take. Up to 64 ranks: replicas that take
/// turns have a program each. Layouts that are searched are those of each way.
llvm::LogicalResult planWithTurns(mlir::ModuleOp module, const CompileOptions &options,
                                  std::optional<plan::SearchOutcome> &outcome, Planner plan);

/// What was chosen from, where planWithTurns() chose.
std::optional<plan::Exchange> exchangeOf(mlir::ModuleOp planned, const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_REPLICATURNS_H
