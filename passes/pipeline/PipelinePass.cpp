//===- PipelinePass.cpp - micro-batches and stages ------------------------===//

#include "passes/pipeline/PipelinePass.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "passes/pipeline/StreamBuilder.h"

namespace pdc::passes {
#define GEN_PASS_DEF_PIPELINEPASS
#include "passes/pipeline/PipelinePass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

namespace {

struct Pipeline : passes::impl::PipelinePassBase<Pipeline> {
  using PipelinePassBase::PipelinePassBase;
  Pipeline(const PipelinePassOptions &options, OrderFinder findOrder)
      : PipelinePassBase(options), findOrder(std::move(findOrder)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    llvm::Expected<TaskOrder> parsed = parseTaskOrder(order);
    if (!parsed) {
      module.emitError("the schedule '") << order << "': " << llvm::toString(parsed.takeError());
      return signalPassFailure();
    }
    if (verticalSync)
      parsed->synchronizeVersions();
    SmallVector<nn::StepOp> steps = stepsInOrder(module);
    for (nn::StepOp step : steps)
      if (failed(checkStep(step)))
        return signalPassFailure();
    if (failed(addPipelineAxis(module, static_cast<int64_t>(parsed->stages.size()))))
      return signalPassFailure();
    Residence residence;
    std::vector<std::unique_ptr<Assigned>> assigned;
    for (nn::StepOp step : steps) {
      TaskOrder tasks = orderOf(step, *parsed);
      // One stage and the whole batch: the step as it is.
      if (tasks.stages.size() == 1 && tasks.microBatches == 1)
        continue;
      assigned.push_back(std::make_unique<Assigned>(step, std::move(tasks), residence));
      if (failed(assigned.back()->classes.run()) || failed(assigned.back()->stages.assign()) ||
          (assigned.size() == 1 && failed(orderByTimes(*assigned.back(), *parsed))))
        return signalPassFailure();
    }
    // Equal layers are equal ops again, whatever their chunks.
    for (nn::StepOp step : steps)
      for (Operation &op : step.getBody().front())
        op.removeAttr(dist::kChunkAttr);
    for (auto &one : assigned)
      if (failed(buildStages(*one)))
        return signalPassFailure();
  }

private:
  /// A step, and which stage does what of it.
  struct Assigned {
    Assigned(nn::StepOp step, TaskOrder order, Residence &residence)
        : tasks(std::move(order)), classes(step, tasks.microBatches), stages(classes, tasks, residence) {}

    TaskOrder tasks;
    StepClasses classes;
    StageAssignment stages;
  };

  /// Training first: where it keeps parameters, the others find them.
  static SmallVector<nn::StepOp> stepsInOrder(ModuleOp module) {
    SmallVector<nn::StepOp> steps, others;
    for (nn::StepOp step : module.getOps<nn::StepOp>())
      (step.getKind() == "train" ? steps : others).push_back(step);
    llvm::append_range(steps, others);
    return steps;
  }

  /// Now that it is known what chunks do.
  LogicalResult orderByTimes(Assigned &assigned, TaskOrder &tasks) const {
    if (!findOrder)
      return success();
    nn::StepOp step = assigned.classes.step;
    auto found = findOrder(assigned.stages.secondsOfChunks());
    auto parsed = found ? parseTaskOrder(*found) : llvm::Expected<TaskOrder>(found.takeError());
    if (!parsed)
      return step.emitOpError("finds no schedule: ") << llvm::toString(parsed.takeError());
    tasks = std::move(*parsed);
    assigned.tasks.stages = orderOf(step, tasks).stages;
    return success();
  }

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

  static LogicalResult addPipelineAxis(ModuleOp module, int64_t stages) {
    if (stages == 1)
      return success();
    Builder b(module.getContext());
    for (dist::MeshOp mesh : module.getOps<dist::MeshOp>()) {
      if (mesh.findAxis(dist::kPipelineAxis) >= 0)
        return mesh.emitOpError("has an axis \"pipeline\" already");
      SmallVector<Attribute> names = {b.getStringAttr(dist::kPipelineAxis)};
      SmallVector<int64_t> sizes = {stages};
      llvm::append_range(names, mesh.getAxisNames());
      llvm::append_range(sizes, mesh.getAxisSizes());
      mesh.setAxisNamesAttr(b.getArrayAttr(names));
      mesh.setAxisSizes(sizes);
    }
    return success();
  }

  static LogicalResult buildStages(Assigned &assigned) {
    nn::StepOp step = assigned.classes.step;
    OpBuilder b(step);
    std::string name = step.getSymName().str();
    step.setSymName(name + "_whole");
    if (step.getKind() == "gradient" && failed(leaveReference(b, assigned, "reference_" + name)))
      return failure();
    SmallVector<std::string> names;
    for (size_t stage = 0; stage < assigned.tasks.stages.size(); ++stage)
      names.push_back(stage == 0 ? name : name + "_stage" + std::to_string(stage));
    if (failed(build(b, assigned, names)))
      return failure();
    step.erase();
    return success();
  }

  static FailureOr<SmallVector<nn::StepOp>> build(OpBuilder &b, Assigned &assigned,
                                                  ArrayRef<std::string> names) {
    if (failed(assigned.stages.finish()))
      return failure();
    Messages messages(assigned.classes, assigned.stages, assigned.tasks);
    if (failed(messages.run()))
      return failure();
    auto time = dist::MeshOp::create(b, assigned.classes.step.getLoc(), "micro_batches",
                                     b.getStrArrayAttr({kMicroAxis}),
                                     b.getDenseI64ArrayAttr({assigned.tasks.microBatches}));
    StagedStep staged{assigned.classes, assigned.stages, assigned.tasks, messages, time};
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
  static LogicalResult leaveReference(OpBuilder &b, const Assigned &assigned, const std::string &name) {
    nn::StepOp step = assigned.classes.step, reference;
    if (!assigned.classes.hasStatistics()) {
      reference = cast<nn::StepOp>(b.clone(*step));
      reference.setSymName(name);
    } else {
      TaskOrder tasks{assigned.tasks.microBatches, {{}}, {0}, {}, {}};
      for (int64_t i = 0; i < tasks.microBatches; ++i) {
        tasks.stages[0].push_back({'F', i, 0});
        tasks.stages[0].push_back({'B', i, 0});
      }
      Residence residence;
      Assigned whole(step, std::move(tasks), residence);
      if (failed(whole.classes.run()) || failed(whole.stages.assign()))
        return failure();
      FailureOr<SmallVector<nn::StepOp>> built = build(b, whole, {name});
      if (failed(built))
        return failure();
      reference = built->front();
    }
    reference->setAttr(dist::kReferenceAttr, b.getUnitAttr());
    return success();
  }

  OrderFinder findOrder;
};

} // namespace

std::unique_ptr<Pass> passes::createPipelinePass(const PipelinePassOptions &options, OrderFinder findOrder) {
  return std::make_unique<Pipeline>(options, std::move(findOrder));
}
