//===- SampleCheck.cpp - every rank has a part of every micro-batch -------===//

#include "passes/pipeline/SampleCheck.h"
#include "passes/layouts/Reshard.h"
#include "passes/pipeline/PlannedStep.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

namespace {
class SampleCheck {
public:
  SampleCheck(const PlannedStage &planned, const BatchSplit &batch, int64_t microBatches, std::optional<size_t> stage)
      : step(planned.plan->step), plan(*planned.plan), mesh(planned.mesh), batch(batch), microBatches(microBatches),
        stage(stage) {}

  LogicalResult run() {
    Block &body = step.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (int64_t dim = dimWithoutSamples(argument); dim >= 0)
        return reportInput(argument, dim);
    for (Operation &op : body)
      for (Value result : op.getResults())
        if (int64_t dim = dimWithoutSamples(result); dim >= 0)
          return report(&op, result, dim);
    return success();
  }

private:
  /// What is the same for all of the batch, or of another layout, is for `partition` to check.
  Value bareOf(Value planned) const { return plan.bareOf(rootOfReshards(planned)); }

  /// The dimension that has the batch and too little of it, or -1.
  int64_t dimWithoutSamples(Value planned) const {
    Value bare = bareOf(planned);
    dist::LayoutAttr layout = dist::getLayout(planned), time = batch.layoutOf(bare);
    ArrayRef<int64_t> whole = cast<RankedTensorType>(planned.getType()).getShape();
    if (time.isReplicated() || !checkFits(layout, whole, mesh).empty() || batch.partsFit(bare, layout, mesh))
      return -1;
    for (int64_t dim = 0; dim < time.getRank(); ++dim)
      if (time.isSplit(dim) && layout.isSplit(dim))
        return dim;
    return -1;
  }

  void addPlace(InFlightDiagnostic &error) const {
    if (stage)
      error << "stage " << *stage << " splits over ";
    else
      error << "the plan splits over ";
  }

  void addAdvice(InFlightDiagnostic &error) const {
    error << " has no sample for some; use a larger batch, " << (microBatches > 1 ? "fewer micro-batches " : "")
          << "or fewer ranks that share samples";
  }

  int64_t samplesOfBatch() const {
    for (BlockArgument argument : step.getBody().getArguments())
      if (auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role"); role && role == "input")
        return cast<RankedTensorType>(argument.getType()).getDimSize(0);
    return 0;
  }

  LogicalResult reportInput(BlockArgument argument, int64_t dim) const {
    InFlightDiagnostic error = step.emitOpError() << "has a batch of " << samplesOfBatch();
    if (microBatches > 1)
      error << " in " << microBatches << " micro-batches";
    if (auto name = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.name"))
      error << " of input '" << name.getValue() << "'";
    error << ", which ";
    addPlace(error);
    error << mesh.getParts(dist::getLayout(argument).getAxes(dim)) << " ranks: a micro-batch of "
          << samplesOfBatch() / microBatches;
    addAdvice(error);
    return error;
  }

  LogicalResult report(Operation *op, Value value, int64_t dim) const {
    dist::LayoutAttr layout = dist::getLayout(value);
    InFlightDiagnostic error = op->emitOpError() << "gives a value of type " << value.getType() << ", whose dimension "
                                                 << dim << " has the samples and ";
    addPlace(error);
    error << mesh.getParts(layout.getAxes(dim)) << " ranks, in layout " << layout << ": of a batch of " << samplesOfBatch()
          << " in " << microBatches << " micro-batches, a micro-batch of " << samplesOfBatch() / microBatches;
    addAdvice(error);
    return error;
  }

  mutable nn::StepOp step;
  const PlannedStep &plan;
  mutable dist::MeshOp mesh;
  const BatchSplit &batch;
  int64_t microBatches;
  std::optional<size_t> stage;
};
} // namespace

LogicalResult passes::checkSamples(const PlannedStage &planned, const BatchSplit &batch, int64_t microBatches,
                                   std::optional<size_t> stage) {
  return SampleCheck(planned, batch, microBatches, stage).run();
}
