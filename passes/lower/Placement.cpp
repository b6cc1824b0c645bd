//===- Placement.cpp - what may share memory with what --------------------===//

#include "passes/lower/Placement.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

bool passes::isViewOp(Operation *op) {
  return isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, dist::SliceOp>(op);
}

static StringRef roleOf(DictionaryAttr attributes) {
  auto role = attributes ? attributes.getAs<StringAttr>("nn.role") : StringAttr();
  return role ? role.getValue() : StringRef();
}

static bool persists(StringRef role) {
  return role == "parameter" || role == "optimizer_state" || role == "state";
}

Placement::Placement(nn::StepOp step) : step(step) {
  int64_t next = 0;
  for (Operation &op : step.getBody().front()) {
    positions[&op] = next++;
    if (isViewOp(&op))
      continue;
    for (Value operand : op.getOperands())
      users[root(operand)].push_back(&op);
  }
  step.walk([&](nn::FusionOp fusion) {
    for (unsigned i = 0; i < fusion.getNumResults(); ++i) {
      auto updated = dyn_cast_or_null<BlockArgument>(donatedOperand(fusion, i));
      if (!updated || roleOf(step.getArgAttrDict(updated.getArgNumber())) != "parameter")
        continue;
      int64_t elements = cast<RankedTensorType>(updated.getType()).getNumElements();
      for (Value operand : fusion.getOperands())
        if (root(operand).getDefiningOp() &&
            cast<RankedTensorType>(operand.getType()).getNumElements() == elements)
          gradients.insert(root(operand));
    }
  });
}

Value Placement::root(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!isViewOp(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Value Placement::updatedArgument(unsigned result) {
  DictionaryAttr wanted = step.getResultAttrDict(result);
  if (!persists(roleOf(wanted)))
    return {};
  for (BlockArgument argument : step.getBody().getArguments()) {
    DictionaryAttr found = step.getArgAttrDict(argument.getArgNumber());
    auto same = [&](StringRef key) { return found.get(key) == wanted.get(key); };
    if (found && same("nn.role") && same("nn.name") && same("nn.slot"))
      return argument;
  }
  return {};
}

/// [operand, result]
static std::pair<int64_t, int64_t> readPair(Attribute pair) {
  if (auto dense = dyn_cast<DenseI64ArrayAttr>(pair))
    return {dense[0], dense[1]};
  auto array = cast<ArrayAttr>(pair);
  return {cast<IntegerAttr>(array[0]).getInt(), cast<IntegerAttr>(array[1]).getInt()};
}

Value Placement::donatedOperand(nn::FusionOp fusion, unsigned result) {
  Attribute pair = donatedPair(fusion, result);
  return pair ? fusion.getOperand(readPair(pair).first) : Value();
}

Attribute Placement::donatedPair(nn::FusionOp fusion, unsigned result) {
  ArrayAttr donate = fusion.getDonateAttr();
  if (!donate)
    return {};
  for (Attribute pair : donate) {
    auto [operandIndex, resultIndex] = readPair(pair);
    if (resultIndex != static_cast<int64_t>(result))
      continue;
    Value operand = fusion.getOperand(operandIndex), from = root(operand);
    if (operand.getType() != fusion.getResult(result).getType())
      continue;
    // What others still read must stay: the old value, and other views of it that this very kernel reads.
    auto used = users.find(from);
    if (used == users.end() || position(used->second.back()) > position(fusion) ||
        llvm::count(used->second, fusion) != 1)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(from)) {
      // An argument's buffer only takes the new value of the same thing.
      Operation *terminator = step.getBody().front().getTerminator();
      bool isNewValue = llvm::any_of(terminator->getOpOperands(), [&](OpOperand &returned) {
        return returned.get() == fusion.getResult(result) &&
               updatedArgument(returned.getOperandNumber()) == argument;
      });
      if (!isNewValue || operand != from)
        continue;
    } else if (isa<nn::ConstantOp, dist::ShardStartOp>(from.getDefiningOp())) {
      continue;
    }
    return pair;
  }
  return {};
}

bool Placement::usedOnlyBy(Value value, Operation *user) const {
  auto used = users.find(root(value));
  if (used == users.end() || used->second.size() != 1 || used->second.front() != user)
    return false;
  while (value.hasOneUse()) {
    Operation *op = value.getDefiningOp();
    if (!op || !isViewOp(op))
      return true;
    value = op->getOperand(0);
  }
  return false;
}

bool Placement::usedLastBy(Value value, Operation *op) const {
  auto used = users.find(root(value));
  if (used == users.end())
    return false;
  int64_t byOp = 0;
  for (Operation *user : used->second) {
    if (user == op)
      ++byOp;
    else if (position(user) > position(op))
      return false;
  }
  return byOp == 1;
}
