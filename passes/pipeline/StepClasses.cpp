//===- StepClasses.cpp - which op of a step is done when ------------------===//

#include "passes/pipeline/StepClasses.h"
#include "dialects/nn/IR/BatchStatistics.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static StringRef roleOf(nn::StepOp step, BlockArgument argument) {
  auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
  return role ? role.getValue() : StringRef();
}

LogicalResult StepClasses::run() {
  if (failed(batch.run()))
    return failure();
  findReaching();
  findForward();
  for (Operation &op : step.getBody().front().without_terminator())
    if (failed(classify(&op)) || failed(classifySums(&op)))
      return failure();
  return success();
}

/// Ops that are the same for all of the batch, on the way to ops that are not.
void StepClasses::findReaching() {
  for (Operation &op : llvm::reverse(step.getBody().front())) {
    if (op.hasTrait<OpTrait::IsTerminator>() || batch.splits(&op))
      continue;
    if (llvm::any_of(op.getUsers(),
                     [&](Operation *user) { return batch.splits(user) || reaching.contains(user); }))
      reaching.insert(&op);
  }
}

void StepClasses::findForward() {
  Block &block = step.getBody().front();
  bool differentiates = step.getKind() == "train" || step.getKind() == "gradient";
  for (OpOperand &operand : block.getTerminator()->getOpOperands()) {
    auto role = step.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "nn.role");
    Operation *made = operand.get().getDefiningOp();
    if (made && (!differentiates || (role && role.getValue() == "loss")))
      forward.insert(made);
  }
  for (Operation &op : llvm::reverse(block))
    if (forward.contains(&op))
      for (Value operand : op.getOperands())
        if (Operation *made = operand.getDefiningOp())
          forward.insert(made);
}

LogicalResult StepClasses::classify(Operation *op) {
  Operation *after = nullptr; // an operand's, which is there only when every micro-batch is through
  bool perMicroBatch = false, onlyInputs = true;
  for (Value operand : op->getOperands()) {
    Operation *made = operand.getDefiningOp();
    if (!made) {
      StringRef role = roleOf(step, cast<BlockArgument>(operand));
      onlyInputs &= role == "input" || role == "seed" || role == "step";
      continue;
    }
    OpClass is = of(made);
    // Sums over the labels alone are there before the first micro-batch, for who asks.
    if (isAccumulated(operand))
      is = is == OpClass::Free ? OpClass::Once : OpClass::After;
    if (is == OpClass::After)
      after = made;
    perMicroBatch |= is == OpClass::Statistic || is == OpClass::Work;
    onlyInputs &= is == OpClass::Free || freeOnce.contains(made) || isAccumulated(operand);
  }
  bool splits = batch.splits(op);
  if (after && (splits || reaching.contains(op))) {
    if (!splits)
      return classes[op] = OpClass::After, success();
    return op->emitOpError("needs, for each micro-batch, what only the whole batch gives (")
           << after->getName() << "): run this model without micro-batches";
  }
  if (splits)
    classes[op] = onlyInputs ? OpClass::Free : OpClass::Work;
  else if (after || (perMicroBatch && !reaching.contains(op)))
    classes[op] = OpClass::After;
  else
    classes[op] = perMicroBatch ? OpClass::Statistic : OpClass::Once;
  if (classes[op] == OpClass::Once && onlyInputs)
    freeOnce.insert(op);
  return success();
}

LogicalResult StepClasses::classifySums(Operation *op) {
  for (Value result : op->getResults()) {
    dist::LayoutAttr partial = batch.partialOf(result);
    if (!partial)
      continue;
    if (!partial.getMax().empty())
      return op->emitOpError("takes the largest over the batch, which micro-batches cannot yet: run this "
                             "model without them");
    bool neededBefore = of(op) != OpClass::Free && llvm::any_of(result.getUsers(), [&](Operation *user) {
                          return batch.splits(user) || reaching.contains(user);
                        });
    if (!neededBefore) {
      accumulated.insert(result);
      continue;
    }
    // The gradient of a statistic is one, too; other sums of the forward pass are what the model means.
    if (isForward(op) && !op->hasAttr(nn::kBatchStatisticsAttr))
      return op->emitOpError("is a sum over the whole batch that the model goes on to compute with, which "
                             "micro-batches do not have (only the statistics of batch_norm are those of "
                             "each micro-batch): run this model without micro-batches");
    statistics.insert(result);
  }
  return success();
}
