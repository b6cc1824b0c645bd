//===- Donate.cpp - updates in the memory of the old values ---------------===//

#include "dialects/nn/Analysis/InPlace.h"
#include "dialects/nn/IR/NN.h"
#include "passes/fuse/FusionBuilder.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

namespace {

/// What tells persistent values apart: role, slot and name.
struct Persistent {
  Attribute role, slot, name;
  bool operator==(const Persistent &) const = default;
  explicit operator bool() const {
    auto text = dyn_cast_or_null<StringAttr>(role);
    return text && llvm::is_contained({"parameter", "optimizer_state", "state"}, text.getValue());
  }
};

} // namespace

static Persistent argumentOf(nn::StepOp step, unsigned index) {
  return {step.getArgAttr(index, "nn.role"), step.getArgAttr(index, "nn.slot"),
          step.getArgAttr(index, "nn.name")};
}

static Persistent resultOf(nn::StepOp step, unsigned index) {
  return {step.getResultAttr(index, "nn.role"), step.getResultAttr(index, "nn.slot"),
          step.getResultAttr(index, "nn.name")};
}

/// The ops that need a result of `op`, directly or not.
static llvm::DenseSet<Operation *> dependentsOf(Operation *op) {
  llvm::DenseSet<Operation *> dependents;
  SmallVector<Operation *> work{op};
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers())
      if (dependents.insert(user).second)
        work.push_back(user);
  return dependents;
}

/// Moves `fusion`, and what needs it, behind all other users of `old`. Fails if one of those needs the
/// fusion.
static LogicalResult moveBehindOtherUsers(nn::FusionOp fusion, Value old) {
  Operation *last = fusion;
  for (Operation *user : old.getUsers()) {
    if (user == fusion)
      continue;
    if (user->hasTrait<OpTrait::IsTerminator>())
      return failure();
    if (last->isBeforeInBlock(user))
      last = user;
  }
  if (last == fusion)
    return success();
  llvm::DenseSet<Operation *> dependents = dependentsOf(fusion);
  SmallVector<Operation *> moved{fusion};
  for (Operation *op = fusion->getNextNode(); op != last->getNextNode(); op = op->getNextNode()) {
    if (!dependents.contains(op))
      continue;
    if (llvm::is_contained(op->getOperands(), old))
      return failure();
    moved.push_back(op);
  }
  for (Operation *op : moved) {
    op->moveAfter(last);
    last = op;
  }
  return success();
}

static bool tryDonate(nn::FusionOp fusion, unsigned result, Value old) {
  auto operand = llvm::find(fusion.getOperands(), old);
  if (operand == fusion.getOperands().end())
    return false;
  auto index = static_cast<unsigned>(operand - fusion.getOperands().begin());
  Block &body = fusion.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  std::string reason;
  auto space = nn::getIterationSpace(ops, reason);
  if (failed(space) ||
      !nn::canComputeInPlace(body, *space, body.getArgument(index),
                             body.getTerminator()->getOperand(result)) ||
      failed(moveBehindOtherUsers(fusion, old)))
    return false;
  Builder builder(fusion.getContext());
  SmallVector<Attribute> pairs;
  if (fusion.getDonate())
    llvm::append_range(pairs, *fusion.getDonate());
  pairs.push_back(builder.getI64ArrayAttr({index, result}));
  fusion.setDonateAttr(builder.getArrayAttr(pairs));
  return true;
}

void passes::donateOldValues(nn::StepOp step) {
  Block &block = step.getBody().front();
  llvm::DenseSet<Value> donated, given;
  for (OpOperand &returned : block.getTerminator()->getOpOperands()) {
    Persistent value = resultOf(step, returned.getOperandNumber());
    auto fusion = returned.get().getDefiningOp<nn::FusionOp>();
    if (!value || !fusion || given.contains(returned.get()))
      continue;
    for (BlockArgument argument : block.getArguments()) {
      if (!(argumentOf(step, argument.getArgNumber()) == value) || donated.contains(argument))
        continue;
      if (tryDonate(fusion, cast<OpResult>(returned.get()).getResultNumber(), argument)) {
        donated.insert(argument);
        given.insert(returned.get());
      }
      break;
    }
  }
}
