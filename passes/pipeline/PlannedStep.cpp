//===- PlannedStep.cpp - a step as it is planned on a stage's mesh --------===//

#include "passes/pipeline/PlannedStep.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

nn::StepOp passes::copyWithoutLayouts(OpBuilder &b, nn::StepOp planned) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(planned);
  auto bare = cast<nn::StepOp>(b.clone(*planned));
  for (unsigned i = 0; i < bare.getNumArguments(); ++i)
    bare.removeArgAttr(i, b.getStringAttr(dist::kLayoutAttr));
  for (unsigned i = 0; i < bare.getNumResults(); ++i)
    bare.removeResultAttr(i, b.getStringAttr(dist::kLayoutAttr));
  for (Operation &op : llvm::make_early_inc_range(bare.getBody().front())) {
    op.removeAttr(dist::kLayoutsAttr);
    if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
      reshard.replaceAllUsesWith(reshard.getInput());
      reshard.erase();
    }
  }
  return bare;
}

FailureOr<PlannedStep> PlannedStep::match(nn::StepOp bare, nn::StepOp planned) {
  PlannedStep result;
  result.bare = bare;
  result.step = planned;
  Operation *next = &bare.getBody().front().front();
  for (Operation &op : planned.getBody().front()) {
    if (isa<dist::ReshardOp>(op))
      continue;
    if (!next || next->getName() != op.getName() || next->getResultTypes() != op.getResultTypes())
      return op.emitOpError() << "is not what the steps of other stages do there: all are plans of one step",
             failure();
    result.ops[next] = &op;
    result.bareOps[&op] = next;
    next = next->getNextNode();
  }
  if (next || bare.getArgumentTypes() != planned.getArgumentTypes())
    return planned.emitOpError("has other ops or arguments than the steps of other stages: all are plans of one step"),
           failure();
  return result;
}

Value PlannedStep::of(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return step.getBody().getArgument(argument.getArgNumber());
  return of(value.getDefiningOp())->getResult(cast<OpResult>(value).getResultNumber());
}

Value PlannedStep::bareOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return bare.getBody().getArgument(argument.getArgNumber());
  return bareOf(value.getDefiningOp())->getResult(cast<OpResult>(value).getResultNumber());
}

Value passes::rootOfReshards(Value value) {
  while (auto reshard = value.getDefiningOp<dist::ReshardOp>())
    value = reshard.getInput();
  return value;
}
