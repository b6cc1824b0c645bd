//===- KernelTraffic.cpp - what fused ops read and write ------------------===//

#include "compiler/plan/search/KernelTraffic.h"
#include "compiler/plan/search/LayoutClasses.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

static bool isView(Operation *op) {
  return isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::BroadcastOp>(op);
}

bool plan::isFreeOp(Operation *op) { return op->getNumOperands() == 0 || isView(op); }

/// Hints and the end of a step, which run nowhere.
static bool isNoWork(Operation *op) { return isa<dist::AlikeOp>(op) || op->hasTrait<OpTrait::IsTerminator>(); }

/// A part of a generated kernel, whatever stands beside it.
static bool isGenerated(Operation *op) {
  return !isa<nn::LibraryOpInterface>(op) && !isFreeOp(op) && !isNoWork(op);
}

/// What a view shows.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Whether a value, or what shows it, is used by something that is not in a kernel of this pass.
bool KernelTraffic::isUsedAsStored(Value value, bool isBackward) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (isa<dist::AlikeOp>(user))
      return false;
    if (isView(user))
      return isUsedAsStored(user->getResult(0), isBackward);
    return !isGenerated(user) || backward.contains(user) != isBackward;
  });
}

bool KernelTraffic::isStored(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  if (op->getNumOperands() == 0)
    return false; // computed again where it is used
  return !isGenerated(op) || isUsedAsStored(value, backward.contains(op));
}

KernelTraffic::KernelTraffic(nn::StepOp step) {
  Block &body = step.getBody().front();
  Operation *loss = findLossOp(step);
  for (Operation *op = loss ? loss->getNextNode() : nullptr; op; op = op->getNextNode())
    backward.insert(op);
  llvm::DenseSet<Value> loaded[2]; // by generated kernels, forward and backward
  for (Operation &op : body) {
    if (isNoWork(&op))
      continue;
    OpTraffic &traffic = ops[&op];
    bool isFree = isFreeOp(&op), isGeneratedOp = isGenerated(&op), isBackward = backward.contains(&op);
    for (Value operand : op.getOperands()) {
      Value source = sourceOf(operand);
      Operation *made = source.getDefiningOp();
      // What the group has just computed is in a register.
      bool isInGroup = made && isGeneratedOp && isGenerated(made) && backward.contains(made) == isBackward;
      traffic.reads.push_back(!isFree && !isInGroup && isStored(source) &&
                              (!isGeneratedOp || loaded[isBackward].insert(source).second));
    }
    for (Value result : op.getResults())
      traffic.writes.push_back(!isFree && isStored(result));
    traffic.launches = !isFree && (!isGeneratedOp || llvm::is_contained(traffic.writes, true));
  }
}
