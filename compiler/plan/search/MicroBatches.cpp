//===- MicroBatches.cpp - samples that a plan can share -------------------===//

#include "compiler/plan/search/MicroBatches.h"
#include "compiler/plan/search/LayoutClasses.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

const passes::BatchSplit *MicroBatches::of(nn::StepOp step) {
  // Inference takes the batch as a whole.
  if (count == 1 || step.getKind() == "infer")
    return nullptr;
  auto [entry, isNew] = known.try_emplace(step);
  if (isNew) {
    ScopedDiagnosticHandler quiet(step.getContext(), [](Diagnostic &) { return success(); });
    auto split = std::make_unique<passes::BatchSplit>(
        step, passes::BatchAxis{"micro", count, "micro-batch", "micro-batches", /*evenIfOne=*/true});
    if (succeeded(split->run()))
      entry->second = std::move(split);
  }
  return entry->second.get();
}

LogicalResult MicroBatches::checkReplicas(nn::StepOp step, int64_t parts) {
  const passes::BatchSplit *split = of(step);
  for (BlockArgument argument : step.getBody().getArguments()) {
    StepValueName name = nameOfArgument(step, argument.getArgNumber());
    auto type = cast<RankedTensorType>(argument.getType());
    if (name.role != "input" || type.getRank() == 0)
      continue;
    int64_t batch = type.getDimSize(0), least = split ? split->leastShapeOf(argument).front() : batch;
    if (!split && least < parts)
      return step.emitOpError() << "has a batch of " << batch << " for data=" << parts
                                << ": every data-parallel rank needs at least one sample; use a larger batch or fewer "
                                   "data-parallel ranks";
    if (least < parts)
      return step.emitOpError() << "has a batch of " << batch << " in " << count
                                << " micro-batches of input '" << name.name << "', which data=" << parts
                                << " splits: a micro-batch of " << least
                                << " has no sample for some ranks; use a larger batch, fewer micro-batches or fewer "
                                   "data-parallel ranks (those of a pipeline can take whole micro-batches in turn: "
                                   "--schedule=1f1b:round-robin)";
  }
  return success();
}
