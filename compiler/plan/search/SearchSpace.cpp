//===- SearchSpace.cpp - the decisions of a step, as a Problem ------------===//

#include "compiler/plan/search/SearchSpace.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;
using passes::OpSplit;

SearchSpace::SearchSpace(nn::StepOp step, MeshCosts &costs, LayoutFilter filter)
    : step(step), costs(costs), classes(step) {
  lastForward = findLossOp(step);
  enumerateOps();
  enumerateDomains(filter);
  if (!impossible)
    addNodes();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Ops that are split in the same ways, at the same costs.
size_t SearchSpace::signatureOf(Operation *op) {
  std::vector<const void *> key = {op->getName().getAsOpaquePointer(),
                                   op->getAttrDictionary().getAsOpaquePointer()};
  for (Type type : op->getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  auto [entry, inserted] = signatures.try_emplace(std::move(key), splitsOfSignature.size());
  if (inserted)
    splitsOfSignature.push_back(std::make_unique<Splits>(passes::enumerateSplits(op, costs.getMesh())));
  return entry->second;
}

void SearchSpace::enumerateOps() {
  for (Operation &op : step.getBody().front()) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<dist::AlikeOp>(op))
      continue;
    size_t signature = signatureOf(&op);
    ops.insert({&op, {0, splitsOfSignature[signature].get(), signature}});
  }
}

static LayoutAttr withoutPartial(LayoutAttr layout) {
  auto none = ArrayAttr::get(layout.getContext(), {});
  return LayoutAttr::get(layout.getContext(), layout.getDims(), layout.getBlocks(), none, none);
}

/// The layouts of a value: every split of its dimensions, and what the splits of the ops around it want, in blocks of
/// more than one element where parts are not even.
void SearchSpace::enumerateDomains(LayoutFilter filter) {
  std::vector<llvm::SetVector<LayoutAttr>> wanted(classes.size());
  for (auto &[op, node] : ops)
    for (const OpSplit &split : *node.splits) {
      for (auto [operand, layout] : llvm::zip(op->getOperands(), split.layouts.operands))
        wanted[classes.classOf(operand)].insert(layout);
      for (auto [result, layout] : llvm::zip(op->getResults(), split.layouts.results))
        wanted[classes.classOf(result)].insert(withoutPartial(layout));
    }
  for (size_t index = 0; index < classes.size(); ++index) {
    auto type = cast<RankedTensorType>(classes.members(index).front().getType());
    Domain domain;
    auto add = [&](LayoutAttr layout) {
      auto isSame = [&](LayoutAttr other) {
        return passes::holdSameElements(layout, other, type.getShape(), costs.getMesh());
      };
      if (llvm::all_of(classes.members(index), [&](Value value) { return filter(value, layout); }) &&
          llvm::none_of(domain, isSame))
        domain.push_back(layout);
    };
    llvm::for_each(passes::enumerateLayouts(type, costs.getMesh()), add);
    llvm::for_each(wanted[index], add);
    if (domain.empty() && !impossible)
      impossible = classes.members(index).front();
    std::vector<const void *> key;
    for (LayoutAttr layout : domain)
      key.push_back(layout.getAsOpaquePointer());
    std::unique_ptr<Domain> &pooled = domainPool[key];
    if (!pooled)
      pooled = std::make_unique<Domain>(std::move(domain));
    domains.push_back(pooled.get());
  }
}

//===----------------------------------------------------------------------===//
// Nodes and edges
//===----------------------------------------------------------------------===//

uint32_t SearchSpace::internUnary(UnaryTable table) {
  std::vector<double> key = {static_cast<double>(table.seconds.size())};
  key.insert(key.end(), table.seconds.begin(), table.seconds.end());
  key.insert(key.end(), table.bytes.begin(), table.bytes.end());
  auto [entry, inserted] = unaryPool.try_emplace(std::move(key), problem.unaryTables.size());
  if (inserted)
    problem.unaryTables.push_back(std::move(table));
  return entry->second;
}

uint32_t SearchSpace::internPair(PairTable table) {
  std::vector<double> key = {double(table.rows), double(table.columns)};
  key.insert(key.end(), table.seconds.begin(), table.seconds.end());
  auto [entry, inserted] = pairPool.try_emplace(std::move(key), problem.pairTables.size());
  if (inserted)
    problem.pairTables.push_back(std::move(table));
  return entry->second;
}

/// Classes stand where their first value does, so that equal layers have their nodes in the same order.
void SearchSpace::addNodes() {
  classNodes.assign(classes.size(), ~0u);
  for (BlockArgument argument : step.getBody().getArguments())
    addClass(classes.classOf(argument));
  for (auto &[op, node] : ops) {
    for (Value result : op->getResults())
      addClass(classes.classOf(result));
    addOp(op);
  }
  addTerminator();
}

/// Bytes of an element of a value that is there when memory is fullest, between the forward and the backward pass.
int64_t SearchSpace::residentElementBytes(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  Operation *definition = value.getDefiningOp();
  if (!definition)
    return bytes;
  if (!lastForward || definition->getBlock() != lastForward->getBlock())
    return 0;
  for (Operation *user : value.getUsers()) {
    auto pair = dyn_cast<dist::AlikeOp>(user);
    // Gradients of parameters are complete before they are used.
    if (pair && pair.getOther() == value && isa<BlockArgument>(pair.getValue()))
      return bytes;
    if (!pair && !user->hasTrait<OpTrait::IsTerminator>() && !lastForward->isBeforeInBlock(definition) &&
        lastForward->isBeforeInBlock(user))
      return bytes;
  }
  return 0;
}

void SearchSpace::addClass(size_t index) {
  if (classNodes[index] != ~0u)
    return;
  classNodes[index] = problem.nodes.size();
  auto type = cast<RankedTensorType>(classes.members(index).front().getType());
  auto bytesOfElement = type.clone(IntegerType::get(type.getContext(), 8));
  int64_t resident = 0;
  for (Value value : classes.members(index))
    resident += residentElementBytes(value);
  // To cut a whole input is free; without this, ranks would read samples that they do not need.
  auto argument = dyn_cast<BlockArgument>(classes.members(index).front());
  bool isInput = argument && nameOfArgument(step, argument.getArgNumber()).role == "input";
  UnaryTable table;
  for (LayoutAttr layout : *domains[index]) {
    table.seconds.push_back(isInput ? costs.inputSeconds(type, layout) : 0);
    table.bytes.push_back(resident * costs.localBytes(bytesOfElement, layout));
  }
  Node node;
  node.unaryTable = internUnary(std::move(table));
  problem.nodes.push_back(std::move(node));
}

void SearchSpace::addEdge(uint32_t first, uint32_t second, uint32_t table) {
  problem.edges.push_back({first, second, table});
}

/// Tables of the same kind of op beside the same domain are computed once.
uint32_t SearchSpace::operandTable(const OpNode &op, unsigned operand, Value value) {
  const Domain &domain = *domains[classes.classOf(value)];
  auto [entry, inserted] =
      tableKeys.try_emplace({op.signature, operand, 0, reinterpret_cast<uint64_t>(&domain)}, 0);
  if (!inserted)
    return entry->second;
  auto type = cast<RankedTensorType>(value.getType());
  PairTable table{static_cast<uint32_t>(domain.size()), static_cast<uint32_t>(op.splits->size()), {}, {}};
  for (LayoutAttr from : domain)
    for (const OpSplit &split : *op.splits)
      table.seconds.push_back(costs.reshardSeconds(type, from, split.layouts.operands[operand]));
  return entry->second = internPair(std::move(table));
}

uint32_t SearchSpace::resultTable(const OpNode &op, unsigned result, Value value) {
  const Domain &domain = *domains[classes.classOf(value)];
  auto [entry, inserted] =
      tableKeys.try_emplace({op.signature, result, 1, reinterpret_cast<uint64_t>(&domain)}, 0);
  if (!inserted)
    return entry->second;
  auto type = cast<RankedTensorType>(value.getType());
  PairTable table{static_cast<uint32_t>(op.splits->size()), static_cast<uint32_t>(domain.size()), {}, {}};
  for (const OpSplit &split : *op.splits)
    for (LayoutAttr to : domain)
      table.seconds.push_back(costs.reshardSeconds(type, split.layouts.results[result], to));
  return entry->second = internPair(std::move(table));
}

void SearchSpace::addOp(Operation *op) {
  OpNode &opNode = ops.find(op)->second;
  opNode.node = problem.nodes.size();
  auto [entry, inserted] = tableKeys.try_emplace({opNode.signature, 0, 2, 0}, 0);
  if (inserted) {
    UnaryTable table;
    for (const OpSplit &split : *opNode.splits)
      table.seconds.push_back(costs.opSeconds(op, split));
    entry->second = internUnary(std::move(table));
  }
  Node node;
  node.unaryTable = entry->second;
  problem.nodes.push_back(std::move(node));
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    addEdge(classNodes[classes.classOf(operand)], opNode.node, operandTable(opNode, index, operand));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    addEdge(opNode.node, classNodes[classes.classOf(result)], resultTable(opNode, index, result));
}

/// What persists must lie at the end of the step as it lay at its begin.
void SearchSpace::addTerminator() {
  Block &body = step.getBody().front();
  for (auto [operand, index] : llvm::zip(body.getTerminator()->getOperands(), argumentsOfResults(step))) {
    if (index < 0)
      continue;
    size_t from = classes.classOf(operand), to = classes.classOf(body.getArgument(index));
    if (from == to)
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    PairTable table{
        static_cast<uint32_t>(domains[from]->size()), static_cast<uint32_t>(domains[to]->size()), {}, {}};
    for (LayoutAttr have : *domains[from])
      for (LayoutAttr want : *domains[to])
        table.seconds.push_back(costs.reshardSeconds(type, have, want));
    addEdge(classNodes[from], classNodes[to], internPair(std::move(table)));
  }
}

double SearchSpace::computeSeconds(ArrayRef<uint32_t> choices) const {
  double seconds = 0;
  for (const auto &[op, node] : ops)
    seconds += problem.unaryTables[problem.nodes[node.node].unaryTable].seconds[choices[node.node]];
  return seconds;
}
