//===- FusionBuilder.cpp - groups as nn.fusion ops ------------------------===//

#include "passes/fuse/FusionBuilder.h"
#include "dialects/nn/Analysis/IterationSpace.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/IRMapping.h"
#include "passes/fuse/FusionPlan.h"
#include "passes/fuse/Label.h"
#include "llvm/ADT/MapVector.h"
#include <set>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

namespace {

class FusionBuilder {
public:
  FusionBuilder(nn::StepOp step, const FusionPlan &plan) : block(step.getBody().front()), plan(plan) {}
  LogicalResult run();

private:
  void findNeeded();
  void build(int group);
  LogicalResult sort();

  Block &block;
  const FusionPlan &plan;
  llvm::MapVector<int, llvm::SetVector<Value>> results; // of each group that something needs
  llvm::DenseMap<Operation *, int> keys;                // where an op wants to stand
  SmallVector<std::pair<Value, Value>> replacements;    // once all groups are built from the original ops
};

} // namespace

/// From the ops that stay, back to the groups that make what they need.
void FusionBuilder::findNeeded() {
  llvm::SetVector<Value> needed;
  for (Operation &op : block)
    if (!isOfKernels(&op))
      needed.insert_range(op.getOperands());
  std::map<int, llvm::SetVector<Value>> found;
  for (size_t i = 0; i < needed.size(); ++i) {
    Value value = needed[i];
    Operation *definition = value.getDefiningOp();
    if (!definition)
      continue;
    int owner = plan.ownerOf(definition);
    if (owner < 0) {
      if (plan.isTrivialReshape(definition))
        needed.insert_range(definition->getOperands());
      continue;
    }
    if (found[owner].insert(value); found[owner].size() == 1)
      needed.insert_range(plan.operandsOf(plan.getGroups()[owner]));
  }
  for (auto &[group, values] : found)
    results[group] = std::move(values);
}

void FusionBuilder::build(int index) {
  const FusionGroup &group = plan.getGroups()[index];
  SmallVector<Value> outputs = results[index].takeVector();
  llvm::sort(outputs, [&](Value a, Value b) {
    return plan.positionOf(a.getDefiningOp()) < plan.positionOf(b.getDefiningOp());
  });
  // Only what the outputs need.
  llvm::SmallPtrSet<Operation *, 16> inside(group.ops.begin(), group.ops.end()), live;
  SmallVector<Operation *> work;
  for (Value output : outputs)
    work.push_back(output.getDefiningOp());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!live.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp(); definition && inside.contains(definition))
        work.push_back(definition);
  }
  FusionGroup needed = group;
  llvm::erase_if(needed.ops, [&](Operation *op) { return !live.contains(op); });
  // An op whose value is computed again elsewhere may be all that makes its neighbours one loop nest.
  std::string reason;
  if (failed(nn::getIterationSpace(needed.ops, reason)))
    needed.ops = group.ops;
  SmallVector<Value> operands(plan.operandsOf(needed).getArrayRef());
  OpBuilder builder(block.getTerminator());
  SmallVector<Location> locations;
  for (Operation *op : needed.ops)
    locations.push_back(op->getLoc());
  auto fusion = nn::FusionOp::create(builder, builder.getFusedLoc(locations),
                                     SmallVector<Type>(ValueRange(outputs).getTypes()), operands,
                                     builder.getStringAttr(makeLabel(needed.ops)), ArrayAttr());
  Block &body = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value operand : operands)
    mapping.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
  builder.setInsertionPointToEnd(&body);
  for (Operation *op : needed.ops)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded;
  for (Value output : outputs)
    yielded.push_back(mapping.lookup(output));
  nn::YieldOp::create(builder, fusion.getLoc(), yielded);
  // An update stays where it was; all else comes as soon as its first result did, if its operands are there.
  keys[fusion] = group.isUpdate
                     ? plan.positionOf(group.owned.back())
                     : std::max(plan.readyAt(needed), plan.positionOf(outputs.front().getDefiningOp()));
  for (auto [output, result] : llvm::zip_equal(outputs, fusion.getResults()))
    replacements.emplace_back(output, result);
}

/// Puts the ops of the block in an order that respects their operands, by their keys.
LogicalResult FusionBuilder::sort() {
  llvm::DenseMap<Operation *, int> missing;
  std::set<std::tuple<int, int, Operation *>> ready; // key, order of creation, op
  llvm::DenseMap<Operation *, int> order;
  auto definitionsOf = [&](Operation *op) {
    llvm::SmallSetVector<Operation *, 8> definitions;
    for (Value operand : op->getOperands())
      if (Operation *definition = operand.getDefiningOp())
        definitions.insert(definition);
    return definitions;
  };
  int count = 0;
  for (Operation &op : block.without_terminator()) {
    order[&op] = count++;
    if (!keys.contains(&op))
      keys[&op] = plan.positionOf(&op);
    missing[&op] = static_cast<int>(definitionsOf(&op).size());
    if (missing[&op] == 0)
      ready.insert({keys[&op], order[&op], &op});
  }
  SmallVector<Operation *> sorted;
  while (!ready.empty()) {
    Operation *op = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    sorted.push_back(op);
    llvm::SmallSetVector<Operation *, 8> users;
    for (Operation *user : op->getUsers())
      users.insert(user);
    for (Operation *user : users)
      if (user != block.getTerminator() && --missing[user] == 0)
        ready.insert({keys[user], order[user], user});
  }
  if (static_cast<int>(sorted.size()) != count)
    return block.getParentOp()->emitOpError("has groups of ops that depend on each other in a cycle");
  for (Operation *op : sorted)
    op->moveBefore(block.getTerminator());
  return success();
}

LogicalResult FusionBuilder::run() {
  findNeeded();
  SmallVector<Operation *> replaced;
  for (Operation &op : block.without_terminator())
    if (isOfKernels(&op))
      replaced.push_back(&op);
  SmallVector<int> indices;
  for (auto &[group, values] : results)
    indices.push_back(group);
  for (int group : indices)
    build(group);
  for (auto [output, result] : replacements)
    output.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(replaced))
    if (op->use_empty())
      op->erase();
  return sort();
}

LogicalResult passes::buildFusions(nn::StepOp step, const FusionPlan &plan) {
  return FusionBuilder(step, plan).run();
}
