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

void pipeline::chooseTurns(ModuleOp planned, const CompileOptions &asked) {
  CompileOptions options = withPlannedPipeline(planned, asked);
  int64_t stages = options.parallel.pipeline;
  std::string split = scheduleOf(options), turns = withTurns(split);
  bool isPriced = options.simulatesPlans && options.costModel == "native" && options.mode == Mode::Train && stages > 1 &&
                  options.ranks <= kMostRanks && leavesTurnsOpen(split);
  if (!isPriced || !hasUnequalReplicas(planned, stages))
    return;
  std::optional<double> splitSeconds = secondsWith(planned, options, split), turnsSeconds = secondsWith(planned, options, turns);
  if (turnsSeconds && !(splitSeconds && *splitSeconds <= *turnsSeconds)) {
    options.schedule = turns;
    statePipeline(planned, options);
  }
  NamedAttrList seconds;
  Builder b(planned.getContext());
  if (splitSeconds)
    seconds.set(dist::kSplitName, b.getF64FloatAttr(*splitSeconds));
  if (turnsSeconds)
    seconds.set(dist::kRoundRobinName, b.getF64FloatAttr(*turnsSeconds));
  if (!seconds.empty())
    planned->setAttr(dist::kExchangeAttr, seconds.getDictionary(planned.getContext()));
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
