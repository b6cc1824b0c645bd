//===- Compiler.h - from a model to an executable's payload -----*- C++ -*-===//
//
// The phases in order. Nothing else in pdc knows the order.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PIPELINE_COMPILER_H
#define PDC_COMPILER_PIPELINE_COMPILER_H

#include "compiler/pipeline/Options.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace mlir {
class DialectRegistry;
class ModuleOp;
class PassManager;
} // namespace mlir

namespace pdc::plan {
struct SearchOutcome;
} // namespace pdc::plan

namespace pdc::pipeline {

/// What a context needs to parse and compile models.
void registerDialects(mlir::DialectRegistry &registry);

struct Compiled {
  std::string payload; // see runtime/program/container.h
  std::string report;  // JSON, as in the payload, but for the time that the search took
  std::string plan;    // the text of the plan phase, as --plan-in reads it; where options.keepsPlan
};

/// Runs the phases after `Phase::Model` up to and including `last` on `module`, in place. Errors are
/// diagnostics.
llvm::LogicalResult runPhases(mlir::ModuleOp module, const CompileOptions &options, Phase last);

/// Adds the passes of Phase::Plan. `outcome` tells what a search did, if there is one; it and `options` must outlive the passes.
void addPlanPasses(mlir::PassManager &passes, const CompileOptions &options, std::optional<plan::SearchOutcome> &outcome);

/// Up to what a search for a plan begins with: steps with hints, biases alone.
llvm::LogicalResult runPhasesForSearch(mlir::ModuleOp module, const CompileOptions &options);

/// From a plan to the rt form.
llvm::LogicalResult runPhasesAfterPlan(mlir::ModuleOp module, const CompileOptions &options);

/// All phases, then code generation and the checks that every program passes before it is written.
/// `module` holds the `rt` form afterwards.
llvm::FailureOr<Compiled> compile(mlir::ModuleOp module, const CompileOptions &options);

/// Likewise from a module in which `done` has been reached: Phase::Plan with a plan written by hand, say. What only a
/// model says, names of dimensions and limits of ids, is left out where its phase is over.
llvm::FailureOr<Compiled> compileFrom(mlir::ModuleOp module, const CompileOptions &options, Phase done);

/// The text that `--to=program` prints: instructions, buffers, sizes.
llvm::FailureOr<std::string> describeProgram(const Compiled &compiled);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_COMPILER_H
