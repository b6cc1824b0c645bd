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
  bool perMicroBatch = false, onlyInputs = true, ofParameters = false;
  for (Value operand : op->getOperands()) {
    Operation *made = operand.getDefiningOp();
    if (!made) {
      StringRef role = roleOf(step, cast<BlockArgument>(operand));
      onlyInputs &= role == "input" || role == "seed" || role == "step";
      ofParameters |= role == "parameter" || role == "state" || role == "optimizer_state";
      continue;
    }
    ofParameters |= fromParameters.contains(made);
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
  if (classes[op] != OpClass::Once || !ofParameters)
    return success();
  fromParameters.insert(op);
  // A penalty: each stage computes that of its own parameters, and sends it where they are added up.
  if (isForward(op) && !reaching.contains(op) && !isStream)
    classes[op] = OpClass::After;
  return success();
}

LogicalResult StepClasses::classifySums(Operation *op) {
  for (Value result : op->getResults()) {
    dist::LayoutAttr partial = batch.partialOf(result);
    if (!partial)
      continue;
    if (!partial.getMax().empty() && microBatches > 1)
      return op->emitOpError("takes the largest over the batch, which micro-batches cannot yet: run this "
                             "model with one micro-batch (--micro-batches=1)");
    bool neededBefore = of(op) != OpClass::Free && llvm::any_of(result.getUsers(), [&](Operation *user) {
                          return batch.splits(user) || reaching.contains(user);
                        });
    if (!neededBefore) {
      accumulated.insert(result);
      continue;
    }
    // The gradient of a statistic is one, too; other sums of the forward pass are what the model means: those of the batch,
    // which one micro-batch has.
    bool isOfBatch = isForward(op) && !op->hasAttr(nn::kBatchStatisticsAttr);
    if (isOfBatch && microBatches > 1)
      return op->emitOpError("is a sum over the whole batch that the model goes on to compute with, which "
                             "micro-batches do not have (only what batch_norm and load_balancing_loss sum up is meant "
                             "for each micro-batch): run this model with one micro-batch (--micro-batches=1)");
    wholeBatch |= isOfBatch;
    statistics.insert(result);
  }
  return success();
}
