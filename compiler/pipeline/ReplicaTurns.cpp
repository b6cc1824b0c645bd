//===- ReplicaTurns.cpp - parts of micro-batches, or whole ones in turn ---===//

#include "compiler/pipeline/ReplicaTurns.h"
#include "compiler/pipeline/PlannedPipeline.h"
#include "compiler/pipeline/Prediction.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/pipeline/PipelinePass.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

static constexpr int64_t kMostRanks = 64;

static std::string scheduleOf(const CompileOptions &options) {
  auto schedule = makeTaskSchedule(options);
  if (schedule)
    return schedule->name;
  llvm::consumeError(schedule.takeError()); // told where it is used
  return "";
}

static bool hasUnequalReplicas(ModuleOp planned, int64_t stages) {
  ScopedDiagnosticHandler quiet(planned.getContext(), [](Diagnostic &) { return success(); });
  FailureOr<SmallVector<int64_t>> replicas = passes::countReplicas(planned, stages);
  return succeeded(replicas) && !llvm::all_equal(*replicas);
}

/// What a step takes in this schedule; none where it cannot run so, or needs more memory than there is.
static std::optional<double> secondsWith(ModuleOp planned, const CompileOptions &options, const std::string &schedule) {
  ScopedDiagnosticHandler quiet(planned.getContext(), [](Diagnostic &) { return success(); });
  CompileOptions asked = options;
  asked.schedule = schedule;
  OwningOpRef<ModuleOp> copy(planned.clone());
  statePipeline(*copy, asked);
  FailureOr<plan::StepPrediction> predicted = predictStep(*copy, asked);
  bool fits = succeeded(predicted) && (options.memoryLimitBytes == 0 || predicted->arenaBytes <= options.memoryLimitBytes);
  return fits ? std::optional<double>(predicted->seconds) : std::nullopt;
}

static void take(ModuleOp module, ModuleOp planned) {
  module->setAttrs(planned->getAttrDictionary());
  module.getBodyRegion().takeBody(planned.getBodyRegion());
}

/// Has the module state the faster way. `ofTurns`: the plan with which replicas would take turns, the module itself or another;
/// `hasPlan`: whether there is one to split by. Whether the other one was taken.
static bool choose(ModuleOp module, bool hasPlan, ModuleOp ofTurns, const CompileOptions &asked) {
  CompileOptions options = withPlannedPipeline(ofTurns, asked);
  options.schedule = withPlannedPipeline(module, asked).schedule;
  std::string split = scheduleOf(options), turns = withTurns(split);
  if (options.parallel.pipeline == 1 || !leavesTurnsOpen(split) || !hasUnequalReplicas(ofTurns, options.parallel.pipeline))
    return false;
  std::optional<double> splitSeconds = hasPlan ? secondsWith(module, options, split) : std::nullopt,
                        turnsSeconds = secondsWith(ofTurns, options, turns);
  bool takesTurns = turnsSeconds && !(splitSeconds && *splitSeconds <= *turnsSeconds);
  if (takesTurns) {
    if (ofTurns != module)
      take(module, ofTurns);
    options.schedule = turns;
    statePipeline(module, options);
  }
  NamedAttrList seconds;
  Builder b(module.getContext());
  if (splitSeconds)
    seconds.set(dist::kSplitName, b.getF64FloatAttr(*splitSeconds));
  if (turnsSeconds)
    seconds.set(dist::kRoundRobinName, b.getF64FloatAttr(*turnsSeconds));
  if (!seconds.empty())
    module->setAttr(dist::kExchangeAttr, seconds.getDictionary(module.getContext()));
  return takesTurns && ofTurns != module;
}

LogicalResult pipeline::planWithTurns(ModuleOp module, const CompileOptions &options,
                                      std::optional<plan::SearchOutcome> &outcome, Planner plan) {
  bool isPriced = options.simulatesPlans && options.costModel == "native" && options.mode == Mode::Train &&
                  options.ranks <= kMostRanks && options.plan.empty();
  // Layouts for stages that are given: those for parts of micro-batches need not suit whole ones, or be there at all.
  bool hasOwnPlan = isPriced && !options.parallel.stages.empty() && leavesTurnsOpen(scheduleOf(options));
  OwningOpRef<ModuleOp> ofTurns;
  std::optional<plan::SearchOutcome> outcomeOfTurns;
  if (hasOwnPlan) {
    CompileOptions tried = options;
    tried.schedule = withTurns(scheduleOf(options));
    ofTurns = module.clone();
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    if (failed(plan(*ofTurns, tried, outcomeOfTurns)))
      ofTurns = nullptr;
  }
  SmallVector<Diagnostic> errors;
  LogicalResult planned = success();
  {
    ScopedDiagnosticHandler keep(module.getContext(), [&](Diagnostic &error) {
      if (!ofTurns)
        return failure();
      errors.push_back(std::move(error));
      return success();
    });
    planned = plan(module, options, outcome);
  }
  if (isPriced && (ofTurns || succeeded(planned)) && choose(module, succeeded(planned), ofTurns ? *ofTurns : module, options)) {
    outcome = std::move(outcomeOfTurns);
    return success();
  }
  for (Diagnostic &error : errors)
    module.getContext()->getDiagEngine().emit(std::move(error));
  return planned;
}

std::optional<plan::Exchange> pipeline::exchangeOf(ModuleOp planned, const CompileOptions &options) {
  auto seconds = planned->getAttrOfType<DictionaryAttr>(dist::kExchangeAttr);
  if (!seconds)
    return std::nullopt;
  auto of = [&](StringRef name) -> std::optional<double> {
    auto value = seconds.getAs<FloatAttr>(name);
    return value ? std::optional<double>(value.getValueAsDouble()) : std::nullopt;
  };
  return plan::Exchange{of(dist::kSplitName), of(dist::kRoundRobinName),
                        !leavesTurnsOpen(scheduleOf(withPlannedPipeline(planned, options)))};
}
