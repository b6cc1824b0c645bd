//===- PipelinePass.cpp - micro-batches and stages ------------------------===//

#include "passes/pipeline/PipelinePass.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "passes/partition/StepPartition.h"
#include "passes/pipeline/AssignedStep.h"
#include "passes/pipeline/ReplicaPlan.h"
#include "passes/pipeline/StreamBuilder.h"

namespace pdc::passes {
#define GEN_PASS_DEF_PIPELINEPASS
#include "passes/pipeline/PipelinePass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// Per stage, the mesh that its steps are planned on.
static FailureOr<SmallVector<dist::MeshOp>> shapesOfStages(ModuleOp module, size_t count) {
  SmallVector<dist::MeshOp> shapes;
  if (auto stated = module->getAttrOfType<ArrayAttr>(dist::kStageMeshesAttr)) {
    for (auto name : stated.getAsRange<FlatSymbolRefAttr>())
      if (auto mesh = module.lookupSymbol<dist::MeshOp>(name.getAttr()))
        shapes.push_back(mesh);
    if (shapes.size() != count || stated.size() != count)
      return module.emitError() << "names " << stated.size() << " meshes of stages (" << dist::kStageMeshesAttr
                                << "), " << shapes.size() << " of which are there; the schedule has " << count
                                << " stages",
             failure();
    return shapes;
  }
  for (nn::StepOp step : module.getOps<nn::StepOp>()) {
    FailureOr<dist::MeshOp> mesh = findMesh(step);
    if (failed(mesh))
      return failure();
    return SmallVector<dist::MeshOp>(count, *mesh);
  }
  return SmallVector<dist::MeshOp>();
}

namespace {

struct Pipeline : passes::impl::PipelinePassBase<Pipeline> {
  using PipelinePassBase::PipelinePassBase;
  Pipeline(const PipelinePassOptions &options, OrderFinder findOrder, TurnsFinder findTurns,
           std::shared_ptr<const MessageCosts> costs)
      : PipelinePassBase(options), findOrder(std::move(findOrder)), findTurns(std::move(findTurns)), costs(std::move(costs)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (nn::StepOp step : module.getOps<nn::StepOp>())
      if (failed(checkStep(step)))
        return signalPassFailure();
    FailureOr<TaskOrder> parsed = readOrder(module);
    if (failed(parsed))
      return signalPassFailure();
    FailureOr<SmallVector<dist::MeshOp>> shapes = shapesOfStages(module, parsed->groupCount());
    if (failed(shapes))
      return signalPassFailure();
    SmallVector<dist::MeshOp> meshes = makeMeshes(*shapes);
    std::vector<double> slowness = slownessOfStages(*shapes);
    ReplicaMeshes replicasOf;
    Residence residence;
    std::vector<std::unique_ptr<AssignedStep>> assigned;
    for (SmallVector<nn::StepOp> &plans : stepsInOrder(module)) {
      TaskOrder tasks = orderOf(plans.front(), *parsed);
      // One stage and the whole batch: the step as it is.
      if (tasks.stages.size() == 1 && tasks.microBatches == 1)
        continue;
      assigned.push_back(std::make_unique<AssignedStep>(plans.front(), std::move(tasks), residence, slowness));
      AssignedStep &one = *assigned.back();
      if (failed(one.takePlans(plans, *shapes, meshes)) || failed(one.classes.run()) || failed(one.takeTurns(replicasOf)) ||
          failed(one.checkSamples()) || failed(one.stages.assign()) ||
          (assigned.size() == 1 && failed(orderByTimes(one, *parsed))))
        return signalPassFailure();
    }
    // Equal layers are equal ops again, whatever their chunks.
    module.walk([](Operation *op) { op->removeAttr(dist::kChunkAttr); });
    for (auto &one : assigned)
      if (failed(buildStages(*one)))
        return signalPassFailure();
    stateMeshes(module, meshes);
  }

private:
  /// For errors that are no single op's: of the model, not of its blocks.
  static Operation *stepOf(ModuleOp module) {
    auto steps = module.getOps<nn::StepOp>();
    return steps.empty() ? module : (*steps.begin()).getOperation();
  }

  FailureOr<TaskOrder> readOrder(ModuleOp module) const {
    std::string text = order;
    SmallVector<int64_t> turns(replicas.begin(), replicas.end());
    llvm::Expected<TaskOrder> parsed = parseTaskOrder(text, turns);
    if (parsed && findTurns) {
      FailureOr<SmallVector<int64_t>> counted = countReplicas(module, parsed->groupCount());
      if (failed(counted))
        return failure();
      llvm::Expected<std::string> found = findTurns(*counted);
      if (!found)
        return stepOf(module)->emitError(llvm::toString(found.takeError())), failure();
      if (llvm::any_of(*counted, [](int64_t count) { return count > 1; })) {
        text = *found;
        parsed = parseTaskOrder(text, *counted);
      }
    }
    if (!parsed)
      return module.emitError("the schedule '") << text << "': " << llvm::toString(parsed.takeError()), failure();
    if (verticalSync)
      parsed->synchronizeVersions();
    return *parsed;
  }

  /// The steps of each kind, one for each mesh shape; training first: where it keeps parameters, the others find them.
  static SmallVector<SmallVector<nn::StepOp>> stepsInOrder(ModuleOp module) {
    SmallVector<SmallVector<nn::StepOp>> byKind;
    for (bool training : {true, false})
      for (nn::StepOp step : module.getOps<nn::StepOp>()) {
        if ((step.getKind() == "train") != training)
          continue;
        auto same = llvm::find_if(byKind, [&](auto &steps) { return steps.front().getKind() == step.getKind(); });
        if (same == byKind.end())
          same = byKind.insert(byKind.end(), SmallVector<nn::StepOp>());
        same->push_back(step);
      }
    return byKind;
  }

  /// Now that it is known what chunks do.
  LogicalResult orderByTimes(AssignedStep &assigned, TaskOrder &tasks) const {
    if (!findOrder)
      return success();
    nn::StepOp step = assigned.classes.step;
    auto found = findOrder(assigned.stages.secondsOfChunks());
    auto parsed = found ? parseTaskOrder(*found, {}) : llvm::Expected<TaskOrder>(found.takeError());
    if (!parsed)
      return step.emitOpError("finds no schedule: ") << llvm::toString(parsed.takeError());
    tasks = std::move(*parsed);
    assigned.tasks.stages = orderOf(step, tasks).stages;
    return success();
  }

  /// Inference runs the whole batch, of which each replica has a part.
  static TaskOrder orderOf(nn::StepOp step, const TaskOrder &order) {
    if (step.getKind() == "infer")
      return order.wholeBatch();
    if (step.getKind() == "evaluate")
      return order.forwardOnly();
    return step.getKind() == "train" ? order : order.withoutUpdates();
  }

  static LogicalResult checkStep(nn::StepOp step) {
    if (!step->hasAttr(dist::kMeshAttr) || step->hasAttr(dist::kRanksAttr))
      return step.emitOpError("is not planned, or partitioned already: pipeline runs between the two");
    return success();
  }

  /// Of the devices of each, whose ranks follow each other.
  std::vector<double> slownessOfStages(ArrayRef<dist::MeshOp> shapes) const {
    std::vector<double> slowness;
    int64_t first = 0;
    for (dist::MeshOp shape : shapes) {
      slowness.push_back(costs->slowness(first, shape.getNumRanks()));
      first += shape.getNumRanks();
    }
    return slowness;
  }

  /// The meshes of the stages themselves, whose ranks follow each other.
  static SmallVector<dist::MeshOp> makeMeshes(ArrayRef<dist::MeshOp> shapes) {
    if (shapes.size() <= 1)
      return SmallVector<dist::MeshOp>(shapes);
    SmallVector<dist::MeshOp> meshes;
    OpBuilder b(shapes.front()->getContext());
    b.setInsertionPointAfter(shapes.front());
    int64_t first = 0;
    for (auto [stage, shape] : llvm::enumerate(shapes)) {
      meshes.push_back(dist::MeshOp::create(b, dist::MeshOp(shape).getLoc(), "stage" + std::to_string(stage),
                                            dist::MeshOp(shape).getAxisNamesAttr(),
                                            dist::MeshOp(shape).getAxisSizesAttr()));
      if (first > 0)
        meshes.back().setFirstRank(first);
      first += dist::MeshOp(shape).getNumRanks();
    }
    return meshes;
  }

  /// From here on the stages' own.
  static void stateMeshes(ModuleOp module, ArrayRef<dist::MeshOp> meshes) {
    module->removeAttr(dist::kStageMeshesAttr);
    if (meshes.size() > 1)
      module->setAttr(dist::kStageMeshesAttr,
                      ArrayAttr::get(module.getContext(), llvm::map_to_vector(meshes, [](dist::MeshOp mesh) -> Attribute {
                        return FlatSymbolRefAttr::get(mesh);
                      })));
  }

  LogicalResult buildStages(AssignedStep &assigned) {
    nn::StepOp step = assigned.classes.step;
    OpBuilder b(step);
    std::string name = step.getSymName().str();
    for (PlannedStep &plan : assigned.plans)
      plan.step.setSymName(plan.step.getSymName().str() + "_planned");
    step.setSymName(name + "_whole");
    if (step.getKind() == "gradient" && failed(leaveReference(b, assigned, "reference_" + name)))
      return failure();
    SmallVector<std::string> names;
    for (int64_t stage = 0; stage < static_cast<int64_t>(assigned.tasks.stages.size()); ++stage) {
      int64_t group = assigned.tasks.groupOf(stage), turn = assigned.tasks.turnOf(stage);
      names.push_back(name + (group > 0 ? "_stage" + std::to_string(group) : "") +
                      (turn > 0 ? "_replica" + std::to_string(turn) : ""));
    }
    if (failed(build(b, assigned, names)))
      return failure();
    assigned.eraseSteps();
    return success();
  }

  FailureOr<SmallVector<nn::StepOp>> build(OpBuilder &b, AssignedStep &assigned, ArrayRef<std::string> names) {
    if (failed(assigned.stages.finish()))
      return failure();
    Messages messages(assigned.classes, assigned.stages, assigned.tasks);
    if (failed(messages.run()))
      return failure();
    auto time = dist::MeshOp::create(b, assigned.classes.step.getLoc(), "micro_batches",
                                     b.getStrArrayAttr({kMicroAxis}),
                                     b.getDenseI64ArrayAttr({assigned.tasks.microBatches}));
    SmallVector<PlannedStage> planned = assigned.plannedStages();
    MessageLayouts layouts(assigned.stages, assigned.classes, assigned.tasks, planned, *costs);
    StagedStep staged{assigned.classes, assigned.stages, assigned.tasks, messages, planned, layouts, time};
    SmallVector<nn::StepOp> built;
    for (auto [stage, name] : llvm::enumerate(names)) {
      auto number = static_cast<int64_t>(stage);
      FailureOr<nn::StepOp> one = assigned.tasks.isStream() ? StreamBuilder(b, staged, number).build(name)
                                                            : StageBuilder(b, staged, number).build(name);
      if (failed(one))
        return failure();
      built.push_back(*one);
    }
    time.erase();
    return built;
  }

  /// The step on one device: as a whole, or, where micro-batches have statistics of their own, in the same ones.
  LogicalResult leaveReference(OpBuilder &b, const AssignedStep &assigned, const std::string &name) {
    nn::StepOp step = assigned.classes.step, reference;
    if (!assigned.classes.hasStatistics()) {
      reference = cast<nn::StepOp>(b.clone(*step));
      reference.setSymName(name);
    } else {
      TaskOrder tasks{assigned.tasks.microBatches, {{}}, {0}, {}, {}, {}};
      for (int64_t i = 0; i < tasks.microBatches; ++i) {
        tasks.stages[0].push_back({'F', i, 0});
        tasks.stages[0].push_back({'B', i, 0});
      }
      Residence residence;
      FailureOr<dist::MeshOp> mesh = findMesh(step);
      AssignedStep whole(step, std::move(tasks), residence, /*slowness=*/{1});
      if (failed(mesh) || failed(whole.takePlans({step}, {*mesh}, {*mesh})) || failed(whole.classes.run()) ||
          failed(whole.stages.assign()))
        return failure();
      FailureOr<SmallVector<nn::StepOp>> built = build(b, whole, {name});
      if (failed(built))
        return failure();
      whole.classes.step.erase();
      reference = built->front();
    }
    reference->setAttr(dist::kReferenceAttr, b.getUnitAttr());
    return success();
  }

  OrderFinder findOrder;
  TurnsFinder findTurns;
  std::shared_ptr<const MessageCosts> costs = std::make_shared<MessageCosts>();
};

} // namespace

FailureOr<SmallVector<int64_t>> passes::countReplicas(ModuleOp planned, int64_t stages) {
  FailureOr<SmallVector<dist::MeshOp>> shapes = shapesOfStages(planned, stages);
  if (failed(shapes))
    return failure();
  SmallVector<int64_t> replicas;
  for (dist::MeshOp shape : *shapes) {
    auto steps = planned.getOps<nn::StepOp>();
    auto step = llvm::find_if(steps, [&](nn::StepOp one) { return one->getAttr(dist::kMeshAttr) == FlatSymbolRefAttr::get(shape); });
    if (step == steps.end())
      return planned.emitError() << "has no step on mesh @" << shape.getSymName() << ", which is that of a stage", failure();
    FailureOr<ArrayAttr> axes = findReplicaAxes(*step, shape);
    if (failed(axes))
      return failure();
    replicas.push_back(shape.getParts(*axes));
  }
  return replicas;
}

std::unique_ptr<Pass> passes::createPipelinePass(const PipelinePassOptions &options, OrderFinder findOrder,
                                                 TurnsFinder findTurns, std::shared_ptr<const MessageCosts> costs) {
  return std::make_unique<Pipeline>(options, std::move(findOrder), std::move(findTurns), std::move(costs));
}
