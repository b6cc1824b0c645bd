//===- LayoutClasses.cpp - values that take one layout decision -----------===//

#include "compiler/plan/search/LayoutClasses.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

static ArrayRef<int64_t> typeShape(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

static StepValueName nameIn(DictionaryAttr attributes) {
  auto get = [&](StringRef key) {
    auto attribute = attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
    return attribute ? attribute.getValue() : StringRef();
  };
  return {get("nn.role"), get("nn.slot"), get("nn.name")};
}

StepValueName plan::nameOfArgument(nn::StepOp step, unsigned index) {
  return nameIn(step.getArgAttrDict(index));
}
StepValueName plan::nameOfResult(nn::StepOp step, unsigned index) {
  return nameIn(step.getResultAttrDict(index));
}

SmallVector<int64_t> plan::argumentsOfResults(nn::StepOp step) {
  using Key = std::tuple<StringRef, StringRef, StringRef>;
  auto keyOf = [](const StepValueName &name) { return Key(name.role, name.slot, name.name); };
  llvm::DenseMap<Key, int64_t> arguments;
  for (unsigned index = 0; index < step.getNumArguments(); ++index)
    arguments.try_emplace(keyOf(nameOfArgument(step, index)), index);
  SmallVector<int64_t> found;
  for (unsigned index = 0; index < step.getNumResults(); ++index) {
    auto argument = arguments.find(keyOf(nameOfResult(step, index)));
    found.push_back(argument == arguments.end() ? -1 : argument->second);
  }
  return found;
}

Operation *plan::findLossOp(nn::StepOp step) {
  Operation *terminator = step.getBody().front().getTerminator();
  for (auto [index, operand] : llvm::enumerate(terminator->getOperands()))
    if (nameOfResult(step, index).role == "loss")
      return operand.getDefiningOp();
  return nullptr;
}

LayoutClasses::LayoutClasses(nn::StepOp step) : step(step) {
  joinPairs();
  joinElementwise();
  joinUpdates();
  number();
}

void LayoutClasses::join(Value a, Value b) {
  if (typeShape(a) == typeShape(b))
    joined.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
}

void LayoutClasses::joinPairs() {
  for (auto pair : step.getBody().getOps<dist::AlikeOp>())
    if (!isa<BlockArgument>(pair.getValue()))
      join(pair.getValue(), pair.getOther());
}

void LayoutClasses::joinElementwise() {
  DenseSet<Value> parameterGradients;
  for (auto pair : step.getBody().getOps<dist::AlikeOp>())
    if (isa<BlockArgument>(pair.getValue()))
      parameterGradients.insert(pair.getOther());
  for (Operation &op : step.getBody().front()) {
    if (!isa<nn::ElementwiseOpInterface>(op) || op.getNumResults() != 1)
      continue;
    Value result = op.getResult(0), like;
    bool isUnary = true;
    for (Value operand : op.getOperands())
      if (typeShape(operand) == typeShape(result)) {
        isUnary &= !like || like == operand;
        like = operand;
      }
    // What is computed from a parameter, its gradient (the update) or an input is a decision of its own.
    if (like && isUnary && !isa<BlockArgument>(like) && !parameterGradients.contains(like))
      join(result, like);
  }
}

namespace {
/// The elementwise ops through which a parameter and its optimizer state get their new values, which are `ends`.
class UpdateRegion {
public:
  UpdateRegion(Operation *terminator, ArrayRef<Value> ends) {
    SmallVector<Value> open(ends);
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (!op || ops.contains(op) || !belongs(op, terminator))
        continue;
      ops.insert(op);
      open.append(op->operand_begin(), op->operand_end());
    }
  }
  const llvm::SetVector<Operation *> &getOps() const { return ops; }

private:
  bool belongs(Operation *op, Operation *terminator) {
    if (!isa<nn::ElementwiseOpInterface>(op) || op->getNumResults() != 1)
      return false;
    // A gradient is where the update begins; it stays a decision of its own.
    for (Operation *user : op->getUsers())
      if (isa<dist::AlikeOp>(user) || (user != terminator && !ops.contains(user)))
        return false;
    return true;
  }
  llvm::SetVector<Operation *> ops;
};

/// What a step has for a parameter besides itself.
struct Update {
  SmallVector<Value> states; // optimizer state
  SmallVector<Value> ends;   // new values of the parameter and its optimizer state
};
} // namespace

void LayoutClasses::joinUpdates() {
  Operation *terminator = step.getBody().front().getTerminator();
  llvm::StringMap<Update> updates; // by the name of the parameter
  for (BlockArgument argument : step.getBody().getArguments())
    if (StepValueName name = nameOfArgument(step, argument.getArgNumber()); name.role == "optimizer_state")
      updates[name.name].states.push_back(argument);
  for (auto [index, operand] : llvm::enumerate(terminator->getOperands()))
    if (StepValueName name = nameOfResult(step, index);
        name.role == "parameter" || name.role == "optimizer_state")
      updates[name.name].ends.push_back(operand);
  for (BlockArgument argument : step.getBody().getArguments()) {
    StepValueName name = nameOfArgument(step, argument.getArgNumber());
    if (name.role != "parameter")
      continue;
    const Update &update = updates[name.name];
    Value first;
    auto joinUpdate = [&](Value value) {
      if (typeShape(value) != typeShape(argument))
        return;
      if (first)
        join(first, value);
      first = value;
    };
    llvm::for_each(update.states, joinUpdate);
    UpdateRegion region(terminator, update.ends);
    for (Operation *op : region.getOps())
      joinUpdate(op->getResult(0));
  }
}

void LayoutClasses::number() {
  llvm::DenseMap<void *, size_t> leaders;
  auto add = [&](Value value) {
    void *pointer = value.getAsOpaquePointer();
    void *leader = joined.contains(pointer) ? joined.getLeaderValue(pointer) : pointer;
    auto [entry, inserted] = leaders.try_emplace(leader, classes.size());
    if (inserted)
      classes.emplace_back();
    classes[entry->second].push_back(value);
    indices[value] = entry->second;
  };
  for (BlockArgument argument : step.getBody().getArguments())
    add(argument);
  for (Operation &op : step.getBody().front())
    for (Value result : op.getResults())
      add(result);
}
