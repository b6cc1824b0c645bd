//===- StagePlans.cpp - a plan for each kind of stage ---------------------===//

#include "compiler/pipeline/StagePlans.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/PlannedPipeline.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

namespace {

using Outcome = std::optional<plan::SearchOutcome>;

class StagePlanner {
public:
  StagePlanner(ModuleOp module, const CompileOptions &options, Outcome &outcome, const PlanAdder &addPlan)
      : module(module), options(options), outcome(outcome), addPlan(addPlan) {}

  LogicalResult run() {
    auto schedule = makeTaskSchedule(options);
    if (!schedule)
      return module.emitError(llvm::toString(schedule.takeError()));
    // Where replicas take whole ones, every rank has something of each.
    microBatches = schedule->takesTurns ? 1 : schedule->microBatches;
    for (const plan::ParallelSpec &stage : options.parallel.stages) {
      if (llvm::any_of(kinds, [&](const Kind &kind) { return areAlike(kind.asked, stage); }))
        continue;
      kinds.push_back({stage, plan::ParallelSpec(), OwningOpRef<ModuleOp>(module.clone()), {}});
      if (failed(plan(kinds.back())))
        return failure();
    }
    for (nn::StepOp step : llvm::make_early_inc_range(module.getOps<nn::StepOp>()))
      step.erase();
    for (auto [index, kind] : llvm::enumerate(kinds))
      take(kind, index == 0 ? "" : "_" + std::to_string(index));
    SmallVector<Attribute> meshes;
    for (const plan::ParallelSpec &stage : options.parallel.stages)
      meshes.push_back(FlatSymbolRefAttr::get(kindOf(stage).mesh));
    module->setAttr(dist::kStageMeshesAttr, ArrayAttr::get(module.getContext(), meshes));
    if (outcome)
      describe();
    if (outcome || options.keepsPlan)
      statePipeline(module, options);
    return success();
  }

private:
  /// Stages that are alike share a plan.
  struct Kind {
    plan::ParallelSpec asked, found;
    OwningOpRef<ModuleOp> module;
    dist::MeshOp mesh;
  };

  Kind &kindOf(const plan::ParallelSpec &stage) {
    return *llvm::find_if(kinds, [&](const Kind &kind) { return areAlike(kind.asked, stage); });
  }

  LogicalResult plan(Kind &kind) {
    CompileOptions ofStage = options;
    ofStage.parallel = kind.found = kind.asked;
    ofStage.cluster = options.cluster ? *options.cluster : machine::local(options.ranks);
    ofStage.ranks = kind.asked.ranksOfStage();
    // The stage by itself adds up the gradients of its micro-batches.
    ofStage.microBatches = microBatches;
    ofStage.schedule.clear();
    // All in one way, so that their steps have the same ops.
    ofStage.searchesDataParallel = outcome.has_value();
    ofStage.keepsPlan = false; // the plan of all stages is kept
    Outcome searched;
    PassManager passes(module.getContext());
    addPlan(passes, ofStage, searched);
    if (failed(passes.run(*kind.module)))
      return failure();
    if (searched) {
      kind.found = searched->parallel;
      add(*searched);
    }
    return success();
  }

  /// What the searches did together; of the plans the one that costs most.
  void add(plan::SearchOutcome &found) {
    if (!isFirst) {
      found.seconds += outcome->seconds;
      found.plansConsidered += outcome->plansConsidered;
      found.bytes = std::max(found.bytes, outcome->bytes);
      found.gap = std::max(found.gap, outcome->gap);
      if (found.stepSeconds <= outcome->stepSeconds) {
        found.stepSeconds = outcome->stepSeconds;
        found.leastSeconds = outcome->leastSeconds;
        found.lowerBoundSeconds = outcome->lowerBoundSeconds;
      }
      found.decisions.insert(found.decisions.begin(), outcome->decisions.begin(), outcome->decisions.end());
    }
    isFirst = false;
    outcome = std::move(found);
  }

  void take(Kind &kind, const std::string &suffix) {
    for (Operation &op : llvm::make_early_inc_range(*kind.module->getBody())) {
      if (!isa<nn::StepOp, dist::MeshOp>(op))
        continue;
      SymbolTable::setSymbolName(&op, SymbolTable::getSymbolName(&op).str() + suffix);
      op.moveBefore(module.getBody(), module.getBody()->end());
      if (auto mesh = dyn_cast<dist::MeshOp>(op))
        kind.mesh = mesh;
      else if (auto name = op.getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr))
        op.setAttr(dist::kMeshAttr, FlatSymbolRefAttr::get(op.getContext(), name.getValue().str() + suffix));
    }
  }

  void describe() {
    plan::ParallelSpec found = options.parallel;
    found.data = found.tensor = 1;
    found.zero = 0;
    for (plan::ParallelSpec &stage : found.stages) {
      stage = kindOf(stage).found;
      found.data = std::max(found.data, stage.data);
      found.tensor = std::max(found.tensor, stage.tensor);
      found.zero = std::max(found.zero, stage.zero);
    }
    outcome->parallel = found;
  }

  ModuleOp module;
  const CompileOptions &options;
  Outcome &outcome;
  const PlanAdder &addPlan;
  int64_t microBatches = 1;
  std::vector<Kind> kinds;
  bool isFirst = true;
};

struct StagePlansPass : PassWrapper<StagePlansPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StagePlansPass)
  StagePlansPass(const CompileOptions &options, Outcome &outcome, PlanAdder addPlan)
      : options(options), outcome(outcome), addPlan(std::move(addPlan)) {}

  StringRef getArgument() const override { return "stage-plans"; }
  StringRef getDescription() const override { return "Chooses the layouts of all values on each kind of stage"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<dist::DistDialect>(); }

  void runOnOperation() override {
    if (failed(planUnlikeStages(getOperation(), options, outcome, addPlan)))
      signalPassFailure();
  }

private:
  const CompileOptions &options;
  Outcome &outcome;
  PlanAdder addPlan;
};

} // namespace

LogicalResult pipeline::planUnlikeStages(ModuleOp module, const CompileOptions &options, Outcome &outcome,
                                         const PlanAdder &addPlan) {
  return StagePlanner(module, options, outcome, addPlan).run();
}

std::unique_ptr<Pass> pipeline::createStagePlansPass(const CompileOptions &options, Outcome &outcome,
                                                     PlanAdder addPlan) {
  return std::make_unique<StagePlansPass>(options, outcome, std::move(addPlan));
}
