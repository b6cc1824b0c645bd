//===- Recomputation.cpp - the forward pass again, in the backward --------===//

#include "passes/recompute/Recomputation.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

void Recomputation::run() {
  SmallVector<Operation *> users;
  for (Operation &op : step.getBody().front())
    if (passes.isBackward(&op))
      users.push_back(&op);
  for (Operation *user : users)
    serve(user);
}

/// The value as the backward pass has it.
Value Recomputation::current(Value value) const {
  if (Value copied = copies.lookup(value))
    return copied;
  Value barrier = barriers.lookup(value);
  return barrier ? barrier : value;
}

void Recomputation::serve(Operation *user) {
  llvm::SetVector<Operation *> again;
  llvm::SetVector<Value> read;
  for (Value operand : user->getOperands())
    if (isMadeAgain(operand))
      collect(operand, again, read);
  SmallVector<Operation *> ops = again.takeVector();
  llvm::sort(ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  b.setInsertionPoint(user);
  if (!ops.empty())
    addBarrier(user, read.getArrayRef());
  for (Operation *op : ops)
    copy(op);
  for (OpOperand &operand : user->getOpOperands())
    operand.set(current(operand.get()));
}

/// The ops that make the value and have no copy yet, and the values of samples that they read.
void Recomputation::collect(Value value, llvm::SetVector<Operation *> &again, llvm::SetVector<Value> &read) {
  SmallVector<Value> work{value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (copies.contains(next) || !again.insert(next.getDefiningOp()))
      continue;
    for (Value operand : next.getDefiningOp()->getOperands()) {
      if (isMadeAgain(operand))
        work.push_back(operand);
      else if (passes.originOf(operand) == Origin::Samples)
        read.insert(operand);
    }
  }
}

/// The last gradient that goes into `user`, of those that lie in memory anyway: what goes into a barrier does.
Value Recomputation::gradientOf(Operation *user) const {
  Value last;
  llvm::SetVector<Operation *> work;
  work.insert(user);
  for (size_t i = 0; i < work.size(); ++i)
    for (Value operand : work[i]->getOperands()) {
      Operation *made = operand.getDefiningOp();
      if (!made || passes.originOf(operand) != Origin::Gradient || (last && made->isBeforeInBlock(last.getDefiningOp())))
        continue;
      if (isa<nn::LibraryOpInterface, dist::ReshardOp, dist::StageReceiveOp>(made))
        last = operand;
      else
        work.insert(made);
    }
  return last;
}

void Recomputation::addBarrier(Operation *user, ArrayRef<Value> read) {
  if (read.empty())
    return;
  SmallVector<Value> inputs = llvm::map_to_vector(read, [&](Value value) { return current(value); });
  if (Value gradient = gradientOf(user))
    inputs.push_back(gradient);
  auto barrier = dist::OptimizationBarrierOp::create(b, user->getLoc(), inputs);
  SmallVector<Attribute> layouts = llvm::map_to_vector(inputs, [](Value value) -> Attribute { return dist::getLayout(value); });
  if (llvm::any_of(layouts, [](Attribute layout) { return !cast<dist::LayoutAttr>(layout).isReplicated(); }))
    barrier->setAttr(dist::kLayoutsAttr, b.getArrayAttr(layouts));
  for (auto [value, result] : llvm::zip(read, barrier.getResults()))
    barriers[value] = result;
}

void Recomputation::copy(Operation *op) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, current(operand));
  Operation *copied = b.clone(*op, mapping);
  for (auto [result, again] : llvm::zip(op->getResults(), copied->getResults()))
    copies[result] = again;
}
