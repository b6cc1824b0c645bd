//===- PlanPasses.cpp - where the layouts of a module come from ---------------===//

#include "compiler/pipeline/PlanPasses.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/FitMemory.h"
#include "compiler/pipeline/PlanFile.h"
#include "compiler/pipeline/PlannedPipeline.h"
#include "compiler/pipeline/Prediction.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

namespace {

struct PlanSearch : PassWrapper<PlanSearch, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanSearch)
  PlanSearch(const CompileOptions &options, plan::SearchOutcome &outcome)
      : options(options), outcome(outcome) {}

  StringRef getArgument() const override { return "plan-search"; }
  StringRef getDescription() const override { return "Chooses the layouts of all values"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registerDialects(registry); // for predictions
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    machine::Cluster cluster = options.cluster ? *options.cluster : machine::local(options.ranks);
    auto costs = cost::makeCostModel(options.costModel, cluster, options.threads);
    if (!costs)
      return fail(module, costs.takeError());
    auto method = plan::makeSearchMethod(options.search);
    if (!method)
      return fail(module, method.takeError());
    plan::SearchRequest request{.cluster = cluster,
                                .costs = **costs,
                                .ranks = options.searchesStages() ? options.ranks : options.ranksOfStage(),
                                .parallel = options.parallel,
                                .rules = options.layoutRules,
                                .waysToFit = waysToNeedLess(options, options.mode == Mode::Train, options.parallel.pipeline,
                                                            !options.recompute.empty()),
                                .takesClosest = options.takesClosest,
                                .method = std::move(*method),
                                .arenaLimitBytes = options.memoryLimitBytes};
    // Where stages are searched, that finds micro-batches as well.
    if (auto schedule = makeTaskSchedule(options))
      request.microBatches = searchesPipeline(request) || schedule->takesTurns ? 1 : schedule->microBatches;
    else
      llvm::consumeError(schedule.takeError()); // told before the phases began
    if (options.searchLimitBytes)
      request.memoryLimitBytes = options.searchLimitBytes;
    else if (options.memoryLimitBytes > 0)
      request.memoryLimitBytes = options.memoryLimitBytes;
    // Published costs are to be minimized as they are, and a random plan is to be random.
    if (options.simulatesPlans && (*costs)->name() == StringRef("native") && !request.method.meshSeed)
      request.predict = [&](ModuleOp planned) { return predictStep(planned, options); };
    auto found = searchesPipeline(request) ? searchPipeline(module, options, request, addPlanPasses)
                                           : plan::searchLayouts(module, request);
    if (failed(found))
      return signalPassFailure();
    if (!searchesPipeline(request))
      statePipeline(module, options);
    outcome = std::move(*found);
  }

private:
  /// Where layouts have rules of their own, costs are those of a paper, or a search only tries, stages are not searched.
  bool searchesPipeline(const plan::SearchRequest &request) const {
    return options.searchesStages() && options.layoutRules.empty() && request.method.name == "exact" &&
           request.costs.name() == StringRef("native");
  }

  void fail(ModuleOp module, llvm::Error error) {
    module.emitError(llvm::toString(std::move(error)));
    signalPassFailure();
  }

  const CompileOptions &options;
  plan::SearchOutcome &outcome;
};

struct ReadPlan : PassWrapper<ReadPlan, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ReadPlan)
  explicit ReadPlan(const CompileOptions &options) : options(options) {}

  StringRef getArgument() const override { return "read-plan"; }
  StringRef getDescription() const override { return "Takes the layouts of a plan file"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<dist::DistDialect>();
  }

  void runOnOperation() override {
    OwningOpRef<ModuleOp> plan = parsePlan(options.plan, options.planName, &getContext());
    if (!plan || failed(takePlan(getOperation(), *plan)))
      return signalPassFailure();
  }

private:
  const CompileOptions &options;
};

struct StatePipeline : PassWrapper<StatePipeline, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StatePipeline)
  explicit StatePipeline(const CompileOptions &options) : options(options) {}

  StringRef getArgument() const override { return "state-pipeline"; }
  StringRef getDescription() const override { return "States the pipeline that was asked for"; }
  void runOnOperation() override { statePipeline(getOperation(), options); }

private:
  const CompileOptions &options;
};

} // namespace

std::unique_ptr<Pass> pipeline::createStatePipelinePass(const CompileOptions &options) {
  return std::make_unique<StatePipeline>(options);
}

std::unique_ptr<Pass> pipeline::createReadPlanPass(const CompileOptions &options) {
  return std::make_unique<ReadPlan>(options);
}

std::unique_ptr<Pass> pipeline::createPlanSearchPass(const CompileOptions &options,
                                                     plan::SearchOutcome &outcome) {
  return std::make_unique<PlanSearch>(options, outcome);
}
