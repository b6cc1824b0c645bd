//===- AssignedStep.cpp - a step, its plans, and which stage does what ----===//

#include "passes/pipeline/AssignedStep.h"
#include "mlir/IR/Builders.h"
#include "passes/partition/StepPartition.h"
#include "passes/pipeline/ReplicaPlan.h"
#include "passes/pipeline/SampleCheck.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static nn::StepOp bareCopyOf(nn::StepOp planned) {
  OpBuilder b(planned);
  return copyWithoutLayouts(b, planned);
}

/// As that of the stage of the pipeline, for each of its replicas.
static std::vector<double> ofStages(const std::vector<double> &ofGroups, const TaskOrder &tasks) {
  std::vector<double> values;
  for (size_t stage = 0; stage < tasks.stages.size(); ++stage)
    values.push_back(ofGroups[tasks.groupOf(static_cast<int64_t>(stage))]);
  return values;
}

AssignedStep::AssignedStep(nn::StepOp planned, TaskOrder order, Residence &residence, const std::vector<double> &slowness)
    : tasks(std::move(order)), classes(bareCopyOf(planned), tasks.microBatches, tasks.isStream()),
      stages(classes, tasks, residence, ofStages(slowness, tasks)) {}

LogicalResult AssignedStep::takePlans(ArrayRef<nn::StepOp> steps, ArrayRef<dist::MeshOp> shapes,
                                      ArrayRef<dist::MeshOp> meshes) {
  DenseMap<Operation *, size_t> byShape;
  for (nn::StepOp step : steps) {
    FailureOr<dist::MeshOp> mesh = findMesh(step);
    FailureOr<PlannedStep> plan = PlannedStep::match(classes.step, step);
    if (failed(mesh) || failed(plan))
      return failure();
    byShape[*mesh] = plans.size();
    plans.push_back(*plan);
  }
  for (auto [shape, mesh] : llvm::zip(shapes, meshes)) {
    auto plan = byShape.find(shape);
    if (plan == byShape.end())
      return steps.front()->emitOpError() << "has no plan on mesh @" << dist::MeshOp(shape).getSymName()
                                          << ", which is that of a stage";
    planOfStage.push_back(plan->second);
    meshOfStage.push_back(mesh);
  }
  turnsOfStage.resize(shapes.size());
  return success();
}

LogicalResult AssignedStep::takeTurns(ReplicaMeshes &known) {
  std::vector<ArrayAttr> turnsOfPlan(plans.size());
  for (auto [stage, count] : llvm::enumerate(tasks.replicas)) {
    PlannedStep &plan = plans[planOfStage[stage]];
    ArrayAttr &turns = turnsOfPlan[planOfStage[stage]];
    FailureOr<ArrayAttr> axes = turns ? turns : findReplicaAxes(plan.step, meshOfStage[stage]);
    if (failed(axes))
      return failure();
    if (int64_t has = meshOfStage[stage].getParts(*axes); has != count)
      return plan.step.emitOpError() << "has " << has << " replicas on stage " << stage << ", the schedule " << count;
    if (count == 1)
      continue;
    // Stages of one shape share a plan.
    if (!std::exchange(turns, *axes))
      passes::takeTurns(plan, classes, *axes);
    turnsOfStage[stage] = *axes;
    if (known[stage].empty())
      known[stage] = makeReplicaMeshes(meshOfStage[stage], *axes);
    replicasOfStage[stage] = known[stage];
  }
  return success();
}

SmallVector<PlannedStage> AssignedStep::plannedStages() const {
  SmallVector<PlannedStage> planned;
  for (int64_t stage = 0; stage < static_cast<int64_t>(tasks.stages.size()); ++stage) {
    int64_t group = tasks.groupOf(stage);
    dist::MeshOp mesh = meshOfStage[group];
    auto replicas = replicasOfStage.find(group);
    planned.push_back({mesh, &plans[planOfStage[group]], turnsOfStage[group],
                       replicas == replicasOfStage.end() ? mesh : replicas->second[tasks.turnOf(stage)]});
  }
  return planned;
}

LogicalResult AssignedStep::checkSamples() const {
  for (auto [stage, planned] : llvm::enumerate(plannedStages()))
    if (failed(passes::checkSamples(planned, classes.batch, tasks.microBatches,
                                    meshOfStage.size() > 1 ? std::optional<size_t>(tasks.groupOf(stage)) : std::nullopt)))
      return failure();
  return success();
}

void AssignedStep::eraseSteps() {
  for (PlannedStep &plan : plans)
    plan.step.erase();
  plans.clear();
  classes.step.erase();
}
