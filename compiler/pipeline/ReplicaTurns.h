//===- ReplicaTurns.h - parts of micro-batches, or whole ones in turn -*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_REPLICATURNS_H
#define PDC_COMPILER_PIPELINE_REPLICATURNS_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/Exchange.h"
#include "mlir/IR/BuiltinOps.h"

namespace pdc::pipeline {

/// Where stages of a planned module have different numbers of replicas, and the schedule leaves open what those do: simulates
/// the step with replicas that share each micro-batch, and with replicas that take whole ones in turn (PipeDream's
/// round-robin), and has the module state the faster one of those that fit into memory, and what both take. Up to 64 ranks:
/// replicas that take turns have a program each.
void chooseTurns(mlir::ModuleOp planned, const CompileOptions &options);

/// What was chosen from, where chooseTurns() chose.
std::optional<plan::Exchange> exchangeOf(mlir::ModuleOp planned, const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_REPLICATURNS_H
