//===- Compare.cpp - ways to split one model, side by side ----------------===//

#include "compiler/pipeline/Compare.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/PlanPasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

/// Plans a copy of the steps.
static ComparedPlan planPreset(ModuleOp steps, const CompileOptions &options, const std::string &preset) {
  ComparedPlan row{preset, "", {}};
  CompileOptions own = options;
  auto parallel = plan::parseParallelSpec(preset, options.ranks);
  if (!parallel) {
    row.why = llvm::toString(parallel.takeError());
    return row;
  }
  own.parallel = *parallel;
  own.simulatesPlans = false; // all rows by the same costs
  own.searchesRecompute = own.parallel.searchesStages && own.memoryLimitBytes > 0;
  OwningOpRef<ModuleOp> copy(steps.clone());
  // What cannot be planned is a result here.
  ScopedDiagnosticHandler handler(steps.getContext(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && row.why.empty())
      row.why = diagnostic.str();
    return success();
  });
  plan::SearchOutcome outcome;
  PassManager passes(steps.getContext());
  passes.addPass(createPlanSearchPass(own, outcome));
  if (succeeded(passes.run(*copy)))
    row.outcome = std::move(outcome);
  else if (row.why.empty())
    row.why = "no plan was found";
  return row;
}

FailureOr<std::vector<ComparedPlan>> pipeline::comparePlans(ModuleOp module, const CompileOptions &options,
                                                            const std::vector<std::string> &presets) {
  CompileOptions searched = options;
  searched.parallel.isSearched = true;
  if (failed(runPhasesForSearch(module, searched)))
    return failure();
  std::vector<ComparedPlan> rows;
  for (const std::string &preset : presets)
    rows.push_back(planPreset(module, options, preset));
  return rows;
}
