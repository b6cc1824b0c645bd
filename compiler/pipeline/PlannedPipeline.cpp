//===- PlannedPipeline.cpp - the pipeline that a plan states --------------===//

#include "compiler/pipeline/PlannedPipeline.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "compiler/plan/stages/StageSearch.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/recompute/RecomputePass.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

static nn::StepOp trainingStep(ModuleOp module) {
  for (nn::StepOp step : module.getOps<nn::StepOp>())
    if (step.getKind() == "train")
      return step;
  return {};
}

/// Ops that a search for layouts neither adds nor removes, in order.
static SmallVector<Operation *> modelOps(nn::StepOp step) {
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front())
    if (!isa<dist::ReshardOp, dist::AlikeOp>(op))
      ops.push_back(&op);
  return ops;
}

namespace {
/// What is found of a plan without touching the module.
struct TriedPlan {
  OwningOpRef<ModuleOp> module;
  std::optional<plan::SearchOutcome> outcome;
};

class PipelineSearch {
public:
  PipelineSearch(ModuleOp module, const CompileOptions &options, const plan::SearchRequest &request, const PlanAdder &addPlan)
      : module(module), options(options), request(request), addPlan(addPlan) {}

  FailureOr<plan::SearchOutcome> run() {
    nn::StepOp step = trainingStep(module);
    if (step)
      decision = plan::searchStages(step, {request.cluster, request.costs, options.ranks, space(),
                                           request.memoryLimitBytes});
    if (!decision || (options.parallel.isSearched && decision->isWhole()))
      return searchWhole();
    // A search over all layouts of meshes of two axes, too, where nothing is decided.
    if (options.parallel.isSearched && options.parallel.pipeline <= 1 && !options.microBatches) {
      TriedPlan whole = tryWhole();
      if (whole.outcome && decision->fits() && request.predict)
        return takeFaster(step, whole);
      if (whole.outcome && (!decision->fits() || whole.outcome->leastSeconds <= decision->plan.seconds)) {
        take(*whole.module);
        addSearch(*whole.outcome);
        return *whole.outcome;
      }
    }
    // On one rank there is little to choose from: what the closest plan needs is told to the byte once it is lowered.
    if (!decision->fits() && !request.takesClosest && options.ranks > 1)
      return reportOverMemory(step);
    return searchStages(step);
  }

private:
  plan::StageSpace space() const {
    plan::StageSpace space;
    const plan::ParallelSpec &asked = options.parallel;
    if (!asked.isSearched) {
      for (auto [number, decided] : {std::pair(asked.data, &space.data), {asked.tensor, &space.tensor},
                                     {asked.pipeline, &space.pipeline}})
        if (number > 0)
          *decided = number;
      if (asked.zero != plan::kSearchedZero)
        space.zero = asked.zero;
    } else if (!asked.searchesStages) {
      space.pipeline = asked.pipeline; // `layouts`: within so many stages
    }
    // Without a number one micro-batch a stage is meant; in a search, as many as are best.
    if (options.microBatches && !options.searchesMicroBatches)
      space.microBatches = options.microBatches;
    // Nobody asked for micro-batches: what the model computes stays as it is.
    space.keepsStatistics = !options.microBatches && !options.searchesMicroBatches;
    if (!options.schedule.empty() && options.schedule != "auto" && options.schedule != "accumulation")
      std::tie(space.schedule, space.chunks) = scheduleAndChunks(options.schedule);
    space.takesTurns = llvm::StringRef(options.schedule).ends_with(":round-robin");
    // Only what is computed again is asked for: the rest is as it is without a search.
    if (!options.searchesPipeline()) {
      space.microBatches = options.microBatches.value_or(asked.pipeline);
      if (asked.pipeline > 1 && !space.schedule)
        space.schedule = "1f1b";
    }
    if (options.recompute.size() == 1)
      space.recompute = options.recompute.front();
    else if (!options.recompute.empty() || !options.searchesRecompute)
      space.recompute = plan::Recompute::None; // a list of words is of stages that are known
    return space;
  }

  /// One stage and the whole batch.
  FailureOr<plan::SearchOutcome> searchWhole() {
    if ((!options.parallel.isSearched || options.parallel.pipeline > 1) && !decision)
      return module.emitError(options.searchesPipeline()
                                  ? "the search finds no pipeline: the model cannot run in micro-batches, or no numbers of "
                                    "stages, micro-batches and ranks go together"
                                  : "--recompute=auto finds nothing: the model's step has no parts of its own for a batch; give "
                                    "none, full or selective"),
             failure();
    FailureOr<plan::SearchOutcome> outcome = plan::searchLayouts(module, request);
    if (succeeded(outcome))
      addSearch(*outcome);
    return outcome;
  }

  TriedPlan tryWhole() {
    TriedPlan tried{OwningOpRef<ModuleOp>(module.clone()), {}};
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    plan::SearchRequest whole = request;
    whole.takesClosest = false;
    if (auto outcome = plan::searchLayouts(*tried.module, whole); succeeded(outcome))
      tried.outcome = std::move(*outcome);
    return tried;
  }

  /// What a planned module takes as a finished program that fits; nothing where it cannot be made, or does not fit.
  std::optional<plan::StepPrediction> predict(ModuleOp planned) {
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> copy(planned.clone());
    FailureOr<plan::StepPrediction> predicted = request.predict(*copy);
    if (failed(predicted) || (request.arenaLimitBytes > 0 && predicted->arenaBytes > request.arenaLimitBytes))
      return std::nullopt;
    return *predicted;
  }

  /// The pipeline, or the whole batch on one stage: costs of the two count different things, so simulations decide.
  FailureOr<plan::SearchOutcome> takeFaster(nn::StepOp step, TriedPlan &whole) {
    FailureOr<plan::SearchOutcome> pipeline = searchStages(step);
    if (failed(pipeline))
      return failure();
    std::optional<plan::StepPrediction> ofPipeline = predict(module), ofWhole = predict(*whole.module);
    plan::SimulatedPlan row{plan::describe(*decision), pipeline->stepSeconds,
                            ofPipeline.value_or(plan::StepPrediction())};
    row.isChosen = ofPipeline && !(ofWhole && ofWhole->seconds <= ofPipeline->seconds);
    std::vector<plan::SimulatedPlan> &rows = whole.outcome->simulated;
    if (rows.empty() && ofWhole)
      rows.push_back({"whole", whole.outcome->stepSeconds, *ofWhole, true});
    if (row.isChosen)
      for (plan::SimulatedPlan &other : rows)
        other.isChosen = false;
    if (ofPipeline)
      rows.push_back(row);
    if (row.isChosen) {
      pipeline->simulated = std::move(rows);
      return pipeline;
    }
    take(*whole.module);
    addSearch(*whole.outcome);
    return *whole.outcome;
  }

  void take(ModuleOp planned) {
    module->setAttrs(planned->getAttrDictionary());
    module.getBodyRegion().takeBody(planned.getBodyRegion());
  }

  /// What the search for stages did belongs to what was found without it.
  void addSearch(plan::SearchOutcome &outcome) const {
    if (!decision)
      return;
    outcome.seconds += decision->searchSeconds;
    outcome.plansConsidered += decision->plansConsidered;
    outcome.lowerBoundSeconds = std::min(outcome.lowerBoundSeconds, decision->lowerBoundSeconds);
    if (decision->fits())
      outcome.leastSeconds = std::min(outcome.leastSeconds, decision->plan.seconds);
    outcome.gap = outcome.leastSeconds > 0 ? 1 - outcome.lowerBoundSeconds / outcome.leastSeconds : 0;
  }

  /// What was found, as if it had been asked for.
  CompileOptions foundOptions() const {
    const plan::StageSetting &setting = decision->setting;
    CompileOptions found = options;
    found.parallel = {};
    found.parallel.pipeline = setting.stages;
    found.parallel.zero = setting.zero;
    found.parallel.data = setting.data;
    found.parallel.tensor = setting.tensor;
    if (!setting.isAlike())
      for (const plan::StageSplit &mesh : decision->meshes) {
        plan::ParallelSpec &stage = found.parallel.stages.emplace_back();
        stage.data = mesh.data;
        stage.tensor = mesh.tensor;
        stage.zero = mesh.data > 1 ? setting.zero : 0;
      }
    found.microBatches = setting.microBatches;
    found.searchesMicroBatches = found.searchesRecompute = false;
    found.schedule = setting.stages == 1 ? "" : setting.scheduleName();
    // What replicas do is asked for, and not searched.
    if (auto [name, replicas] = llvm::StringRef(options.schedule).split(':');
        leavesTurnsOpen(name) && !replicas.empty() && name == found.schedule)
      found.schedule = options.schedule;
    if (found.recompute.size() < 2)
      found.recompute = decision->recompute;
    return found;
  }

  /// The layouts of the stages that were found. Limits of memory count a whole model and a whole batch.
  FailureOr<plan::SearchOutcome> searchLayouts(const CompileOptions &found) {
    if (!decision->setting.isAlike()) {
      CompileOptions unlimited = found;
      unlimited.memoryLimitBytes = 0;
      unlimited.searchLimitBytes = std::nullopt;
      auto outcome = std::make_optional<plan::SearchOutcome>();
      if (failed(planUnlikeStages(module, unlimited, outcome, addPlan)))
        return failure();
      return *outcome;
    }
    plan::SearchRequest layouts = request;
    layouts.parallel = found.parallel;
    layouts.ranks = found.ranksOfStage();
    layouts.microBatches = decision->setting.microBatches;
    layouts.memoryLimitBytes = std::nullopt;
    return plan::searchLayouts(module, layouts);
  }

  FailureOr<plan::SearchOutcome> searchStages(nn::StepOp step) {
    CompileOptions found = foundOptions();
    SmallVector<int64_t> chunkOfOp;
    for (auto [op, chunk] : llvm::zip(step.getBody().front(), decision->chunkOfOp))
      if (!isa<dist::ReshardOp, dist::AlikeOp>(op))
        chunkOfOp.push_back(chunk);
    FailureOr<plan::SearchOutcome> outcome = searchLayouts(found);
    if (failed(outcome))
      return failure();
    statePipeline(module, found);
    if (failed(stateRecompute(module, found)))
      return failure();
    Builder b(module.getContext());
    for (nn::StepOp planned : module.getOps<nn::StepOp>())
      if (planned.getKind() == "train" && decision->setting.stages > 1)
        for (auto [op, chunk] : llvm::zip_equal(modelOps(planned), chunkOfOp))
          if (chunk >= 0)
            op->setAttr(dist::kChunkAttr, b.getI64IntegerAttr(chunk));
    describe(*outcome, decision->setting.isAlike() ? found.parallel : outcome->parallel);
    return outcome;
  }

  void describe(plan::SearchOutcome &outcome, const plan::ParallelSpec &parallel) const {
    outcome.parallel = parallel;
    if (parallel.pipeline > 1) {
      outcome.meshAxes.insert(outcome.meshAxes.begin(), "pipeline");
      outcome.meshSizes.insert(outcome.meshSizes.begin(), parallel.pipeline);
    }
    outcome.seconds += decision->searchSeconds;
    outcome.plansConsidered += decision->plansConsidered;
    outcome.stepSeconds = outcome.leastSeconds = decision->plan.seconds;
    outcome.computeSeconds = std::min(outcome.stepSeconds, outcome.computeSeconds / static_cast<double>(parallel.pipeline));
    outcome.lowerBoundSeconds = decision->lowerBoundSeconds;
    outcome.gap = outcome.stepSeconds > 0 ? 1 - outcome.lowerBoundSeconds / outcome.stepSeconds : 0;
    outcome.bytes = *llvm::max_element(decision->bytes);
    outcome.microBatches = decision->setting.microBatches;
    outcome.schedule = decision->setting.scheduleName();
  }

  LogicalResult reportOverMemory(nn::StepOp step) const {
    size_t stage = llvm::max_element(decision->bytes) - decision->bytes.begin();
    int64_t first = 0, ranks = decision->meshes[stage].ranks(), bytes = decision->bytes[stage];
    for (size_t before = 0; before < stage; ++before)
      first += decision->meshes[before].ranks();
    InFlightDiagnostic error = step.emitError("no plan fits into ")
                               << *request.memoryLimitBytes << " bytes a rank: of all pipelines the one that comes closest ("
                               << plan::describe(*decision) << ") needs " << bytes << " on stage " << stage
                               << " (ranks " << first << " to " << first + ranks - 1 << "), "
                               << bytes - *request.memoryLimitBytes << " more";
    return error << "; " << request.waysToFit;
  }

  ModuleOp module;
  const CompileOptions &options;
  const plan::SearchRequest &request;
  const PlanAdder &addPlan;
  std::optional<plan::StageDecision> decision;
};
} // namespace

FailureOr<plan::SearchOutcome> pipeline::searchPipeline(ModuleOp module, const CompileOptions &options,
                                                        const plan::SearchRequest &request, const PlanAdder &addPlan) {
  return PipelineSearch(module, options, request, addPlan).run();
}

void pipeline::statePipeline(ModuleOp module, const CompileOptions &options) {
  auto schedule = makeTaskSchedule(options);
  if (!schedule)
    return llvm::consumeError(schedule.takeError()); // told before the phases began
  if (schedule->isTrivial())
    return;
  Builder b(module.getContext());
  module->setAttr(dist::kStagesAttr, b.getI64IntegerAttr(options.parallel.pipeline));
  module->setAttr(dist::kMicroBatchesAttr, b.getI64IntegerAttr(schedule->microBatches));
  module->setAttr(dist::kScheduleAttr, b.getStringAttr(options.schedule.empty() ? schedule->name : options.schedule));
}

/// A word for each stage; none where all are "none".
static std::vector<dist::Recompute> perStage(const CompileOptions &options) {
  std::vector<dist::Recompute> words = options.recompute;
  if (words.size() == 1)
    words.assign(options.parallel.pipeline, words.front());
  if (llvm::all_of(words, [](dist::Recompute word) { return word == dist::Recompute::None; }))
    words.clear();
  return words;
}

LogicalResult pipeline::stateRecompute(ModuleOp module, const CompileOptions &options) {
  std::vector<dist::Recompute> words = perStage(options);
  if (module->hasAttr(dist::kRecomputeAttr)) {
    auto stated = passes::getRecompute(module, options.parallel.pipeline);
    if (failed(stated))
      return failure();
    if (!options.recompute.empty() && !llvm::equal(*stated, words))
      return module.emitError("the plan says what its stages compute again (")
             << dist::kRecomputeAttr << " = " << module->getAttr(dist::kRecomputeAttr)
             << "), and --recompute says something else";
    return success();
  }
  if (!words.empty() && static_cast<int64_t>(words.size()) != options.parallel.pipeline)
    return module.emitError("--recompute has a word for each of ")
           << words.size() << " stages, and the plan has " << options.parallel.pipeline
           << (options.parallel.pipeline == 1 ? " stage" : " stages");
  if (!words.empty()) {
    auto texts = llvm::map_to_vector(words, [](dist::Recompute word) { return StringRef(dist::toString(word)); });
    module->setAttr(dist::kRecomputeAttr, Builder(module.getContext()).getStrArrayAttr(texts));
  }
  return success();
}

/// How many ranks each stage has, where the module states their meshes; how they divide them is not known here.
static std::vector<plan::ParallelSpec> stagesOfMeshes(ModuleOp module) {
  std::vector<plan::ParallelSpec> stages;
  auto meshes = module->getAttrOfType<ArrayAttr>(dist::kStageMeshesAttr);
  for (Attribute name : meshes ? meshes.getValue() : ArrayRef<Attribute>()) {
    auto mesh = module.lookupSymbol<dist::MeshOp>(cast<FlatSymbolRefAttr>(name).getAttr());
    if (!mesh)
      return {};
    stages.emplace_back().data = mesh.getNumRanks();
  }
  return stages;
}

CompileOptions pipeline::withPlannedPipeline(ModuleOp module, const CompileOptions &options) {
  CompileOptions planned = options;
  auto stages = module->getAttrOfType<IntegerAttr>(dist::kStagesAttr);
  auto microBatches = module->getAttrOfType<IntegerAttr>(dist::kMicroBatchesAttr);
  auto schedule = module->getAttrOfType<StringAttr>(dist::kScheduleAttr);
  if (options.searchesPipeline()) {
    planned.parallel = {}; // what was searched: one stage, unless the plan says otherwise
    planned.parallel.isSearched = true;
    planned.searchesMicroBatches = false;
    planned.schedule.clear();
  }
  if (stages && microBatches && schedule) {
    planned.parallel.pipeline = stages.getInt();
    planned.microBatches = microBatches.getInt();
    planned.schedule = schedule.str();
  }
  if (planned.parallel.stages.empty())
    planned.parallel.stages = stagesOfMeshes(module);
  return planned;
}
