//===- SearchSpace.cpp - the decisions of a step, as a Problem ------------===//

#include "compiler/plan/search/SearchSpace.h"
#include "compiler/plan/search/WantedLayouts.h"
#include "dialects/dist/IR/Dist.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;
using passes::OpSplit;

/// As gradients are mostly reduced: the default of --bucket-bytes.
static constexpr double kBucketBytes = 25e6;

SearchSpace::SearchSpace(nn::StepOp step, MeshCosts &costs, LayoutFilter filter, const passes::BatchSplit *microBatches)
    : step(step), costs(costs), microBatches(microBatches), classes(step), traffic(step) {
  lastForward = findLossOp(step);
  measureStep();
  findSums();
  enumerateOps();
  enumerateDomains(filter);
  findSharedUses();
  if (!impossible)
    addNodes();
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

bool SearchSpace::fitsMicroBatches(Operation *op, const OpSplit &split) const {
  auto allFit = [&](auto values, ArrayRef<LayoutAttr> layouts) {
    return llvm::all_of(llvm::zip(values, layouts), [&](auto pair) {
      return fitsMicroBatches(std::get<0>(pair), std::get<1>(pair));
    });
  };
  return allFit(op->getOperands(), split.layouts.operands) && allFit(op->getResults(), split.layouts.results);
}

/// Ops that are split in the same ways, at the same costs.
size_t SearchSpace::signatureOf(Operation *op) {
  std::vector<const void *> key = {op->getName().getAsOpaquePointer(),
                                   op->getAttrDictionary().getAsOpaquePointer()};
  for (Type type : op->getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  bool isSum = sums.contains(op);
  key.push_back(isSum ? op->getContext() : nullptr);
  // Costs count what the op moves as a part of its kernel.
  uintptr_t moves = traffic.of(op).launches;
  for (bool isMoved : llvm::concat<const bool>(traffic.of(op).reads, traffic.of(op).writes))
    moves = moves * 2 + isMoved;
  key.push_back(reinterpret_cast<const void *>(moves));
  // Of a micro-batch only what has the batch is smaller.
  if (microBatches)
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector(op->getResults())))
      key.push_back(microBatches->layoutOf(value).getAsOpaquePointer());
  auto [entry, inserted] = signatures.try_emplace(std::move(key), splitsOfSignature.size());
  if (inserted) {
    auto splits = std::make_unique<Splits>(passes::enumerateSplits(op, costs.getMesh()));
    if (isSum)
      passes::addSplitsOfSums(op, costs.getMesh(), *splits);
    llvm::erase_if(*splits, [&](const OpSplit &split) { return !fitsMicroBatches(op, split); });
    communication.emplace_back();
    for (const OpSplit &split : *splits)
      communication.back().push_back(costs.splitCommunicationSeconds(split));
    splitsOfSignature.push_back(std::move(splits));
  }
  return entry->second;
}

/// What ranks share of the whole step: its bytes between the passes, which say from which memory values come, and those of
/// the gradients, which are reduced in buckets.
void SearchSpace::measureStep() {
  double resident = 0, reduced = 0;
  auto bytesOf = [](Value value, int64_t elementBytes) {
    return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements() * elementBytes);
  };
  for (size_t index = 0; index < classes.size(); ++index)
    for (Value value : classes.members(index))
      resident += bytesOf(value, residentElementBytes(value));
  for (auto pair : step.getBody().getOps<dist::AlikeOp>())
    if (isa<BlockArgument>(pair.getValue()) && gradients.insert(pair.getOther()).second)
      reduced += bytesOf(pair.getOther(), sizeof(float));
  costs.setWorkingSetBytes(resident / static_cast<double>(costs.getRanks()));
  costs.setBucketBytes(std::min(reduced, kBucketBytes));
}

/// Additions of what other ops can leave partial, and nothing else uses.
void SearchSpace::findSums() {
  for (auto add : step.getBody().front().getOps<nn::AddOp>()) {
    bool canWait = llvm::all_of(add->getOperands(), [&](Value operand) {
      Operation *made = operand.getDefiningOp();
      return made && operand.hasOneUse() && operand.getType() == add.getResult().getType() &&
             (sums.contains(made) || (passes::canLeaveSum(made) && !isa<nn::AddOp>(made)));
    });
    if (canWait)
      sums.insert(add);
  }
}

/// Ops that mostly take what comes as it is do not ask for a layout of their own.
static bool asksForLayout(OpOperand &use) {
  return !isa<nn::ElementwiseOpInterface, dist::AlikeOp>(use.getOwner()) &&
         !use.getOwner()->hasTrait<OpTrait::IsTerminator>();
}

void SearchSpace::findSharedUses() {
  struct Uses {
    SmallVector<OpOperand *> all;
    unsigned inPass[2] = {0, 0}; // forward, backward
    Operation *first[2] = {nullptr, nullptr};
  };
  llvm::MapVector<Value, Uses> uses;
  bool isBackward = false;
  for (Operation &op : step.getBody().front()) {
    for (OpOperand &use : op.getOpOperands())
      if (ops.contains(&op) && asksForLayout(use)) {
        Uses &of = uses[use.get()];
        of.all.push_back(&use);
        if (of.inPass[isBackward]++ == 0)
          of.first[isBackward] = &op;
      }
    isBackward |= &op == lastForward;
  }
  for (auto &[value, of] : uses) {
    // One node for both passes: with two, values would have twice the neighbors, and tables be several times larger.
    if (std::max(of.inPass[0], of.inPass[1]) < 2 || domainOfClass(classes.classOf(value)).size() < 2)
      continue;
    for (OpOperand *use : of.all)
      sharedUses[use] = shared.size();
    SharedLayout made{~0u, {}};
    for (Operation *first : of.first)
      if (first)
        made.makers.push_back(first);
    shared.push_back(std::move(made));
  }
}

void SearchSpace::enumerateOps() {
  for (Operation &op : step.getBody().front()) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<dist::AlikeOp>(op))
      continue;
    size_t signature = signatureOf(&op);
    ops.insert({&op, {0, splitsOfSignature[signature].get(), signature}});
  }
}

/// The layouts of a value: every split of its dimensions, and what the splits of the ops around it want, in blocks of
/// more than one element where parts are not even. Of activations, only splits that an op in the neighborhood wants
/// which does more than go through elements: in another one, a value would be resharded before and after.
void SearchSpace::enumerateDomains(LayoutFilter filter) {
  WantedLayouts wanted(classes);
  for (auto &[op, node] : ops)
    wanted.add(op, *node.splits);
  for (size_t index = 0; index < classes.size(); ++index) {
    auto type = cast<RankedTensorType>(classes.members(index).front().getType());
    const LayoutSet *work = wanted.ofWorkAround(index);
    Domain domain;
    auto isSame = [&](LayoutAttr a, LayoutAttr b) {
      return passes::holdSameElements(a, b, type.getShape(), costs.getMesh());
    };
    auto isWanted = [&](LayoutAttr layout) {
      return !work || layout.isReplicated() ||
             llvm::any_of(*work, [&](LayoutAttr other) { return isSame(layout, other); });
    };
    // A value is partial only as its op leaves it.
    auto canBe = [&](LayoutAttr layout) {
      return !layout.isPartial() || llvm::all_of(classes.members(index), [&](Value value) {
        auto result = dyn_cast<OpResult>(value);
        return result && ops.contains(result.getOwner()) &&
               llvm::any_of(splitsOf(result.getOwner()), [&](const OpSplit &split) {
                 return costs.reshardSeconds(type, split.layouts.results[result.getResultNumber()], layout) !=
                        forbidden;
               });
      });
    };
    auto add = [&](LayoutAttr layout) {
      if (canBe(layout) && isWanted(passes::withoutPartial(layout)) &&
          llvm::all_of(classes.members(index),
                       [&](Value value) { return filter(value, layout) && fitsMicroBatches(value, layout); }) &&
          llvm::none_of(domain, [&](LayoutAttr other) { return isSame(layout, other); }))
        domain.push_back(layout);
    };
    auto addAll = [&] {
      llvm::for_each(passes::enumerateLayouts(type, costs.getMesh()), add);
      llvm::for_each(wanted.ofClass(index), add);
    };
    addAll();
    if (domain.empty() && work) {
      work = nullptr;
      addAll();
    }
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

uint32_t SearchSpace::reshardTable(size_t from, size_t to, RankedTensorType type) {
  auto [entry, inserted] = tableKeys.try_emplace({reinterpret_cast<uint64_t>(domains[from]),
                                                  reinterpret_cast<uint64_t>(domains[to]), 3,
                                                  reinterpret_cast<uint64_t>(type.getAsOpaquePointer())},
                                                 0);
  if (!inserted)
    return entry->second;
  PairTable table{
      static_cast<uint32_t>(domains[from]->size()), static_cast<uint32_t>(domains[to]->size()), {}, {}};
  for (LayoutAttr have : *domains[from])
    for (LayoutAttr want : *domains[to])
      table.seconds.push_back(costs.reshardSeconds(type, have, want));
  return entry->second = internPair(std::move(table));
}

/// The node beside which an operand stands: of its value, or of the layout that its users share, which is made where
/// the first of them is met.
uint32_t SearchSpace::nodeOfUse(OpOperand &use) {
  size_t index = classes.classOf(use.get());
  auto known = sharedUses.find(&use);
  if (known == sharedUses.end())
    return classNodes[index];
  auto &[node, makers] = shared[known->second];
  if (node == ~0u) {
    node = problem.nodes.size();
    size_t choices = domains[index]->size();
    Node made;
    made.unaryTable = internUnary({std::vector<double>(choices), std::vector<int64_t>(choices)});
    problem.nodes.push_back(std::move(made));
    // What is gathered for the forward pass is not kept for the backward pass.
    for (Operation *maker : makers)
      addEdge(classNodes[index], node,
              reshardTable(index, index, cast<RankedTensorType>(use.get().getType())), maker);
  }
  return node;
}

LayoutAttr SearchSpace::layoutOfUse(OpOperand &use, ArrayRef<uint32_t> choices) const {
  size_t index = classes.classOf(use.get());
  auto known = sharedUses.find(&use);
  return (
      *domains[index])[choices[known == sharedUses.end() ? classNodes[index] : shared[known->second].node]];
}

void SearchSpace::addEdge(uint32_t first, uint32_t second, uint32_t table, Operation *owner) {
  problem.edges.push_back({first, second, table});
  edgeOwners.push_back(owner);
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
  bool isGradient = gradients.contains(value);
  auto [entry, inserted] =
      tableKeys.try_emplace({op.signature, result, isGradient ? 4u : 1u, reinterpret_cast<uint64_t>(&domain)}, 0);
  if (!inserted)
    return entry->second;
  auto type = cast<RankedTensorType>(value.getType());
  PairTable table{static_cast<uint32_t>(op.splits->size()), static_cast<uint32_t>(domain.size()), {}, {}};
  for (const OpSplit &split : *op.splits)
    for (LayoutAttr to : domain) {
      LayoutAttr from = split.layouts.results[result];
      table.seconds.push_back(isGradient ? costs.gradientReshardSeconds(type, from, to)
                                         : costs.reshardSeconds(type, from, to));
    }
  return entry->second = internPair(std::move(table));
}

void SearchSpace::addOp(Operation *op) {
  OpNode &opNode = ops.find(op)->second;
  SmallVector<uint32_t> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(nodeOfUse(operand));
  opNode.node = problem.nodes.size();
  auto [entry, inserted] = tableKeys.try_emplace({opNode.signature, 0, 2, 0}, 0);
  if (inserted) {
    UnaryTable table;
    for (auto [seconds, communicating, may] :
         llvm::zip(costs.opSeconds(op, traffic.of(op), *opNode.splits), communication[opNode.signature],
                   costs.mayTake(op, *opNode.splits)))
      table.seconds.push_back(may ? seconds + communicating : forbidden);
    entry->second = internUnary(std::move(table));
  }
  Node node;
  node.unaryTable = entry->second;
  problem.nodes.push_back(std::move(node));
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    addEdge(operands[index], opNode.node, operandTable(opNode, index, operand), op);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    addEdge(opNode.node, classNodes[classes.classOf(result)], resultTable(opNode, index, result), op);
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
    addEdge(classNodes[from], classNodes[to],
            reshardTable(from, to, cast<RankedTensorType>(operand.getType())), operand.getDefiningOp());
  }
}

double SearchSpace::computeSeconds(ArrayRef<uint32_t> choices) const {
  double seconds = 0;
  for (const auto &[op, node] : ops) {
    uint32_t choice = choices[node.node];
    seconds += problem.unaryTables[problem.nodes[node.node].unaryTable].seconds[choice] -
               communication[node.signature][choice];
  }
  return seconds;
}

llvm::DenseMap<Operation *, double> SearchSpace::secondsOfOps(ArrayRef<uint32_t> choices) const {
  llvm::DenseMap<Operation *, double> seconds;
  for (const auto &[op, node] : ops)
    seconds[op] += problem.unaryTables[problem.nodes[node.node].unaryTable].seconds[choices[node.node]];
  for (auto [edge, owner] : llvm::zip(problem.edges, edgeOwners))
    seconds[owner] += problem.pairTables[edge.pairTable].secondsAt(choices[edge.first], choices[edge.second]);
  return seconds;
}

int64_t SearchSpace::residentBytes(Value value, ArrayRef<uint32_t> choices) const {
  auto type = cast<RankedTensorType>(value.getType());
  return residentElementBytes(value) *
         costs.localBytes(type.clone(IntegerType::get(type.getContext(), 8)), layoutOf(value, choices));
}

namespace {
/// Copies of tables with their seconds multiplied, each made once.
template <typename Table> class ScaledTables {
public:
  explicit ScaledTables(std::vector<Table> &tables) : tables(tables) {}
  void scale(uint32_t &table, double by) {
    if (by == 1)
      return;
    auto [entry, isNew] = known.try_emplace({table, by}, tables.size());
    if (isNew) {
      Table copy = tables[table];
      for (double &seconds : copy.seconds)
        seconds = seconds == forbidden ? forbidden : seconds * by;
      tables.push_back(std::move(copy));
    }
    table = entry->second;
  }

private:
  std::vector<Table> &tables;
  std::map<std::pair<uint32_t, double>, uint32_t> known;
};
} // namespace

Problem SearchSpace::weighted(llvm::function_ref<double(Operation *)> weightOf) const {
  Problem result = problem;
  ScaledTables<UnaryTable> unary(result.unaryTables);
  ScaledTables<PairTable> pairs(result.pairTables);
  for (uint32_t node : classNodes)
    unary.scale(result.nodes[node].unaryTable, 0);
  for (const auto &[op, node] : ops)
    unary.scale(result.nodes[node.node].unaryTable, weightOf(op));
  for (auto [edge, owner] : llvm::zip(result.edges, edgeOwners))
    pairs.scale(edge.pairTable, weightOf(owner));
  return result;
}

double SearchSpace::leastSecondsOf(Operation *op) const {
  const UnaryTable &table = problem.unaryTables[problem.nodes[nodeOfOp(op)].unaryTable];
  return *llvm::min_element(table.seconds);
}

std::vector<SearchSpace::Arrival> SearchSpace::arrivalsOf(Value value) const {
  const Domain &domain = *domains[classes.classOf(value)];
  auto type = cast<RankedTensorType>(value.getType());
  std::vector<Arrival> arrivals;
  for (LayoutAttr to : domain) {
    if (to.isPartial())
      continue;
    Arrival &arrival = arrivals.emplace_back(Arrival{to});
    for (LayoutAttr from : domain)
      if (double seconds = from.isPartial() ? 0 : costs.reshardSeconds(type, from, to); seconds != forbidden)
        arrival.mostSeconds = std::max(arrival.mostSeconds, seconds);
  }
  return arrivals;
}
