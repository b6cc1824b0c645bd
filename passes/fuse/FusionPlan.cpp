//===- FusionPlan.cpp - which ops become one kernel -----------------------===//

#include "passes/fuse/FusionPlan.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

// A kernel's size: its compile time grows with its ops, its address registers with its operands.
static constexpr size_t mostOps = 96, mostOperands = 24;
// Column kernels are vectorized along the columns: with fewer than this, and many elements, a reduction stays
// alone.
static constexpr int64_t fewestColumns = 32, manyElements = 1 << 16;
// Instructions per element that may be spent to save one load and store of it.
static constexpr int recomputeInstructions = 16;
// Likewise where all that has to be loaded are scalars; a dropout mask must not live from forward to
// backward.
static constexpr int connectorInstructions = 128;
// Groups this close use a value at about the same time: more operands may live from one to the other.
static constexpr int nearbyPositions = 32;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static int64_t bytesOf(Value value) {
  return typeOf(value).getNumElements() * ((typeOf(value).getElementTypeBitWidth() + 7) / 8);
}

/// Of type tensor<i64>: the start of a part.
static bool isNumberOfPart(nn::ConstantOp constant) {
  RankedTensorType type = typeOf(constant.getResult());
  return type.getRank() == 0 && type.getElementType().isInteger(64);
}

bool passes::isOfKernels(Operation *op) {
  auto constant = dyn_cast<nn::ConstantOp>(op);
  return constant ? !isNumberOfPart(constant) : nn::isFusible(op);
}

static bool isReduction(Operation *op) { return isa<nn::ReduceSumOp, nn::ReduceMaxOp>(op); }

FusionPlan::FusionPlan(Block &body, llvm::function_ref<bool(unsigned)> isUpdateResult)
    : body(body), order(static_cast<int>(body.getOperations().size())) {
  int task = 0;
  for (Operation &op : body) {
    positions[&op] = static_cast<int>(program.size());
    program.push_back(&op);
    task += isa<dist::TaskOp>(op);
    tasks[&op] = task;
  }
  findConnectors();
  findUpdates(isUpdateResult);
}

nn::ScalarTraits FusionPlan::traitsOf(Operation *op) {
  auto [entry, inserted] = traits.try_emplace(op);
  if (inserted)
    entry->second = nn::getScalarTraits(op);
  return entry->second;
}

int FusionPlan::ownerOf(Operation *op) const {
  auto found = owners.find(op);
  return found == owners.end() ? -1 : found->second;
}

bool FusionPlan::isTrivialReshape(Operation *op) const { return isa<nn::ReshapeOp>(op) && isOfKernels(op); }

void FusionPlan::findConnectors() {
  llvm::DenseMap<Operation *, int> instructions;
  for (Operation &op : body.without_terminator()) {
    if (!isOfKernels(&op) || isReduction(&op))
      continue;
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      if (cast<DenseElementsAttr>(constant.getValue()).isSplat())
        connectors.insert(&op);
      continue;
    }
    if (isTrivialReshape(&op)) {
      connectors.insert(&op);
      continue;
    }
    if (typeOf(op.getResult(0)).getNumElements() == 1)
      continue; // scalars are computed once
    int cost = traitsOf(&op).instructions;
    bool ofScalars = llvm::all_of(op.getOperands(), [&](Value operand) {
      Operation *definition = operand.getDefiningOp();
      if (definition && isConnector(definition) && !isa<nn::ReshapeOp>(definition)) {
        cost += instructions.lookup(definition);
        return true;
      }
      return typeOf(operand).getNumElements() == 1;
    });
    instructions[&op] = cost;
    if (ofScalars && cost <= connectorInstructions)
      connectors.insert(&op);
  }
}

/// An op belongs to an update if new parameters and optimizer state are all that comes of it. Reductions and
/// what they need (norms of LAMB, column sums of a gradient) are not part of it.
void FusionPlan::findUpdates(llvm::function_ref<bool(unsigned)> isUpdateResult) {
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isOfKernels(&op) || isReduction(&op) || isConnector(&op) || op.use_empty())
      continue;
    bool onlyUpdates = llvm::all_of(op.getUses(), [&](OpOperand &use) {
      return use.getOwner() == body.getTerminator() ? isUpdateResult(use.getOperandNumber())
                                                    : updates.contains(use.getOwner());
    });
    if (onlyUpdates && typeOf(op.getResult(0)).getNumElements() > 1)
      updates.insert(&op);
  }
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void FusionPlan::addGroup(Operation *op) {
  llvm::SetVector<Operation *> ops;
  SmallVector<Operation *> work{op};
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    if (!ops.insert(next))
      continue;
    for (Value operand : next->getOperands())
      if (Operation *definition = operand.getDefiningOp(); definition && isConnector(definition))
        work.push_back(definition);
  }
  FusionGroup group;
  group.ops = ops.takeVector();
  llvm::sort(group.ops, [&](Operation *a, Operation *b) { return positionOf(a) < positionOf(b); });
  group.owned.push_back(op);
  group.isUpdate = updates.contains(op);
  group.node = positionOf(op);
  int index = static_cast<int>(groups.size());
  owners[op] = index;
  for (Operation *member : group.ops)
    containing[member].push_back(index);
  groups.push_back(std::move(group));
}

FusionGroup FusionPlan::unite(const FusionGroup &a, const FusionGroup &b) const {
  auto byPosition = [&](Operation *x, Operation *y) { return positionOf(x) < positionOf(y); };
  auto merge = [&](ArrayRef<Operation *> x, ArrayRef<Operation *> y) {
    SmallVector<Operation *> merged;
    std::set_union(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(merged), byPosition);
    return merged;
  };
  return {merge(a.ops, b.ops), merge(a.owned, b.owned), a.isUpdate, a.node};
}

llvm::SetVector<Value> FusionPlan::operandsOf(const FusionGroup &group) const {
  llvm::SmallPtrSet<Operation *, 16> inside(group.ops.begin(), group.ops.end());
  llvm::SetVector<Value> operands;
  for (Operation *op : group.ops)
    for (Value operand : op->getOperands())
      if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
        operands.insert(operand);
  return operands;
}

int FusionPlan::readyAt(const FusionGroup &group) const {
  int ready = -1;
  for (Value operand : operandsOf(group))
    if (Operation *definition = operand.getDefiningOp())
      ready = std::max(ready, positionOf(definition));
  return ready;
}

void FusionPlan::forEachUse(Value value, const FusionGroup &group,
                            llvm::function_ref<void(Use)> visit) const {
  Operation *definition = value.getDefiningOp();
  for (Operation *user : value.getUsers()) {
    if (isConnector(user)) {
      forEachUse(user->getResult(0), group, visit);
      continue;
    }
    auto found = containing.find(user);
    if (found == containing.end()) {
      visit({positionOf(user), -1});
      continue;
    }
    for (int index : found->second) {
      const FusionGroup &other = groups[index];
      if (&other != &group && !other.contains(definition))
        visit({other.contains(user) && ownerOf(user) == index ? positionOf(user)
                                                              : positionOf(other.owned.front()),
               index});
    }
  }
}

bool FusionPlan::isScalar(const FusionGroup &group) const {
  return llvm::all_of(group.ops, [](Operation *op) {
    return typeOf(op->getResult(0)).getNumElements() == 1 &&
           llvm::all_of(op->getOperands(),
                        [](Value operand) { return typeOf(operand).getNumElements() == 1; });
  });
}

bool FusionPlan::isOneKernel(const FusionGroup &group) const {
  if (group.ops.size() > mostOps || operandsOf(group).size() + group.owned.size() > mostOps ||
      operandsOf(group).size() > mostOperands)
    return false;
  std::string reason;
  auto space = nn::getIterationSpace(group.ops, reason);
  if (failed(space))
    return false;
  if (!space->reduced || (space->reduced >> (space->sizes.size() - 1) & 1))
    return true;
  int64_t elements = 1;
  for (int64_t size : space->sizes)
    elements *= size;
  return space->sizes.back() >= fewestColumns || elements < manyElements;
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

/// The node that makes the results of `op`.
int FusionPlan::nodeOf(Operation *op) const {
  int owner = ownerOf(op);
  return owner < 0 ? positionOf(op) : groups[owner].node;
}

/// False where an op or group outside `joined` needs one of its values and makes one of its operands, directly or not.
/// That values are computed again (tryRecompute) needs no change of the order: what a group reads then stood before
/// the group that it no longer reads.
bool FusionPlan::joinInOrder(const FusionGroup &joined, int into, int from) {
  auto visitDefinitions = [&](const auto &values, NodeOrder::Visit visit) {
    for (Value value : values)
      if (Operation *definition = value.getDefiningOp())
        visit(nodeOf(definition));
  };
  SmallVector<int> predecessors;
  visitDefinitions(operandsOf(joined), [&](int node) { predecessors.push_back(node); });
  return order.join(groups[into].node, groups[from].node, predecessors,
                    [&](int node, NodeOrder::Visit visit) {
                      int owner = ownerOf(program[node]);
                      if (owner < 0)
                        visitDefinitions(program[node]->getOperands(), visit);
                      else
                        visitDefinitions(operandsOf(groups[owner]), visit);
                    });
}

/// Whether waiting until `readyAt` for `part` to run keeps more bytes alive than it saves.
bool FusionPlan::keepsMoreAlive(const FusionGroup &joined, int part, int readyAt) const {
  const FusionGroup &group = groups[part];
  if (this->readyAt(group) >= readyAt)
    return false;
  int64_t kept = 0, saved = 0;
  for (Value operand : operandsOf(group)) {
    Operation *definition = operand.getDefiningOp();
    if (!definition)
      continue; // arguments live anyway
    bool usedLater = false;
    for (Operation *user : operand.getUsers())
      usedLater |= !group.contains(user) && positionOf(user) >= readyAt;
    kept += usedLater ? 0 : bytesOf(operand);
  }
  for (Operation *op : group.owned) {
    int uses = 0;
    forEachUse(op->getResult(0), group, [&](Use) { ++uses; });
    saved += uses ? bytesOf(op->getResult(0)) : 0;
  }
  return kept > saved;
}

/// Whether the joined group runs later than something needs a value of it, or keeps more alive than it saves.
bool FusionPlan::delays(const FusionGroup &joined, int a, int b) const {
  int ready = readyAt(joined);
  bool delays = false;
  for (int part : {a, b})
    for (Operation *op : groups[part].owned)
      forEachUse(op->getResult(0), groups[part],
                 [&](Use use) { delays |= use.group != a && use.group != b && use.position <= ready; });
  return delays || keepsMoreAlive(joined, a, ready) || keepsMoreAlive(joined, b, ready);
}

bool FusionPlan::mayJoin(const FusionGroup &joined, int a, int b) const {
  return groups[a].isUpdate == groups[b].isUpdate && isOneKernel(joined) && !delays(joined, a, b);
}

bool FusionPlan::tryJoin(int into, int from) {
  // Tasks of a schedule run in their order; and looking at pairs of one task only takes time that grows with their number
  // and not with its square.
  if (tasks.lookup(groups[into].owned.front()) != tasks.lookup(groups[from].owned.front()))
    return false;
  FusionGroup joined = unite(groups[into], groups[from]);
  if (!mayJoin(joined, into, from) || !joinInOrder(joined, into, from))
    return false;
  for (Operation *op : groups[from].owned)
    owners[op] = into;
  for (Operation *op : groups[from].ops) {
    auto &indices = containing[op];
    llvm::erase(indices, from);
    if (!llvm::is_contained(indices, into))
      indices.push_back(into);
  }
  groups[into] = std::move(joined);
  groups[from] = FusionGroup();
  return true;
}

void FusionPlan::joinProducers(Operation *op) {
  addGroup(op);
  // Latest producer first: what was just computed is still in the cache.
  std::vector<int> producers;
  for (Value operand : operandsOf(groups.back()))
    if (Operation *definition = operand.getDefiningOp(); definition && ownerOf(definition) >= 0)
      producers.push_back(positionOf(definition));
  llvm::sort(producers, std::greater<int>());
  llvm::DenseMap<int, Operation *> byPosition;
  for (Value operand : operandsOf(groups.back()))
    if (Operation *definition = operand.getDefiningOp())
      byPosition[positionOf(definition)] = definition;
  for (int position : producers) {
    int producer = ownerOf(byPosition[position]), own = ownerOf(op);
    // Scalars that many groups use, such as a learning rate, are a group of their own.
    if (producer == own || (isScalar(groups[producer]) && !isScalar(groups[own])))
      continue;
    tryJoin(producer, own);
  }
}

//===----------------------------------------------------------------------===//
// Values that are computed again
//===----------------------------------------------------------------------===//

/// Tries to compute `value` of `group` again in all groups that use it, so that it is not stored.
bool FusionPlan::tryRecompute(int index, Value value) {
  const FusionGroup &group = groups[index];
  llvm::SmallSetVector<int, 4> users;
  bool usedOutside = false;
  forEachUse(value, group, [&](Use use) {
    usedOutside |= use.group < 0;
    users.insert(use.group);
  });
  if (usedOutside || users.empty())
    return false;
  auto isStoredAnyway = [&](Value operand) {
    bool stored = false;
    forEachUse(operand, group, [&](Use use) { stored |= use.group < 0; });
    return stored;
  };
  // What has to be computed, back to what can be loaded.
  llvm::SmallSetVector<Operation *, 8> again;
  llvm::SmallSetVector<Value, 8> loaded;
  SmallVector<Operation *> work{value.getDefiningOp()};
  int instructions = 0;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!again.insert(op))
      continue;
    instructions += isConnector(op) ? 0 : traitsOf(op).instructions;
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      bool isSmall = bytesOf(operand) * 8 <= bytesOf(value); // statistics of rows: loaded
      if (!definition || !group.contains(definition) ||
          (!isConnector(definition) && (isSmall || isReduction(definition) || isStoredAnyway(operand))))
        loaded.insert(operand);
      else
        work.push_back(definition);
    }
  }
  if (instructions > recomputeInstructions || again.size() > 8)
    return false;
  int64_t bytes = bytesOf(value), saved = bytes;
  SmallVector<FusionGroup> extended;
  for (int user : users) {
    FusionGroup with = groups[user];
    llvm::SetVector<Value> before = operandsOf(with);
    FusionGroup added;
    added.ops.assign(again.begin(), again.end());
    llvm::sort(added.ops, [&](Operation *a, Operation *b) { return positionOf(a) < positionOf(b); });
    added.isUpdate = with.isUpdate;
    with = unite(with, added);
    int64_t more = 0;
    for (Value operand : loaded)
      more += before.contains(operand) || (operand.getDefiningOp() && with.contains(operand.getDefiningOp()))
                  ? 0
                  : bytesOf(operand);
    saved += bytes - more;
    bool isNear = positionOf(with.owned.front()) - positionOf(value.getDefiningOp()) <= nearbyPositions;
    if (more > (isNear ? 5 * bytes / 2 : bytes) || !isOneKernel(with))
      return false;
    extended.push_back(std::move(with));
  }
  // A reduction's result that so far stayed inside the group is stored now.
  for (Value operand : loaded)
    if (Operation *definition = operand.getDefiningOp(); definition && ownerOf(definition) == index)
      saved -= bytesOf(operand);
  // Where it makes no difference to the traffic, it saves the memory of the value.
  if (saved < -bytes / 4)
    return false;
  for (auto [user, with] : llvm::zip_equal(users, extended)) {
    for (Operation *op : again)
      if (!llvm::is_contained(containing[op], user))
        containing[op].push_back(user);
    groups[user] = std::move(with);
  }
  return true;
}

void FusionPlan::recomputeCheapValues() {
  for (int index = static_cast<int>(groups.size()) - 1; index >= 0; --index) {
    SmallVector<Operation *> owned = groups[index].owned;
    for (Operation *op : llvm::reverse(owned))
      if (!isReduction(op) && typeOf(op->getResult(0)).getNumElements() > 1)
        tryRecompute(index, op->getResult(0));
  }
}

//===----------------------------------------------------------------------===//
// Groups that read the same
//===----------------------------------------------------------------------===//

void FusionPlan::joinReadersOfTheSame() {
  for (int index = 0; index < static_cast<int>(groups.size()); ++index) {
    if (groups[index].owned.empty() || isScalar(groups[index]))
      continue;
    llvm::SmallSetVector<int, 8> others;
    for (Value operand : operandsOf(groups[index])) {
      if (typeOf(operand).getNumElements() == 1)
        continue;
      for (Operation *user : operand.getUsers())
        if (auto found = containing.find(user); found != containing.end())
          for (int other : found->second)
            if (other > index)
              others.insert(other);
    }
    for (int other : others)
      if (!groups[other].owned.empty() && !groups[index].isUpdate && !isScalar(groups[other]))
        tryJoin(index, other);
  }
}

void FusionPlan::run() {
  for (Operation &op : body.without_terminator()) {
    if (!isOfKernels(&op))
      continue;
    if (!isConnector(&op)) {
      joinProducers(&op);
      continue;
    }
    // A connector is stored where an op in no group uses it; reshapes cost nothing and stay outside.
    bool usedOutside = llvm::any_of(
        op.getUsers(), [&](Operation *user) { return !isOfKernels(user) || isTrivialReshape(user); });
    if (usedOutside && !isTrivialReshape(&op))
      addGroup(&op);
  }
  recomputeCheapValues();
  joinReadersOfTheSame();
}
