//===- KeptValues.cpp - what a forward pass keeps for its backward --------===//

#include "passes/recompute/KeptValues.h"
#include "passes/layouts/Reshard.h"
#include "passes/recompute/MinCut.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// Of what the backward pass needs, the share of the smallest values, which are kept.
static constexpr int64_t kSmallShare = 64;
/// Longer chains are cut in each of so many windows only where least is alive.
static constexpr int64_t kMostBorders = 400;

KeptValues::KeptValues(nn::StepOp step, const ForwardPasses &passes, dist::MeshOp mesh, dist::Recompute recompute)
    : step(step), passes(passes), mesh(mesh) {
  for (const ForwardPass &pass : passes.all()) {
    keepSmallAndPinned(pass);
    if (recompute == dist::Recompute::Full)
      keepBorders(pass);
    else
      keepCut(pass);
  }
}

bool KeptValues::isKept(Value value) const { return kept.contains(storageOf(value, passes)); }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

int64_t KeptValues::bytesOf(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  LocalPart part = getLocalPart(dist::getLayout(value), type.getShape(), mesh, mesh.getFirst());
  int64_t elements = 1;
  for (int64_t size : part.shape)
    elements *= size;
  return elements * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// The results that are no views of others, in order.
SmallVector<Value> KeptValues::storagesOf(const ForwardPass &pass) const {
  SmallVector<Value> values;
  for (Operation *op : pass.ops)
    if (!isView(op))
      llvm::append_range(values, op->getResults());
  return values;
}

void KeptValues::forEachUse(Value storage, function_ref<void(Value, Operation *)> visit) const {
  for (Operation *user : storage.getUsers()) {
    visit(storage, user);
    if (isView(user) && passes.passOf(user->getResult(0)) >= 0)
      for (Value view : user->getResults())
        forEachUse(view, visit);
  }
}

bool KeptValues::isNeeded(Value storage) const {
  bool isNeeded = false;
  forEachUse(storage, [&](Value, Operation *user) { isNeeded |= passes.isBackward(user); });
  return isNeeded;
}

int64_t KeptValues::lastUse(Value storage) const {
  int64_t last = passes.placeOf(storage.getDefiningOp()), pass = passes.passOf(storage);
  forEachUse(storage, [&](Value, Operation *user) {
    if (user->getNumResults() && passes.passOf(user->getResult(0)) == pass)
      last = std::max(last, passes.placeOf(user));
  });
  return last;
}

void KeptValues::keepSmallAndPinned(const ForwardPass &pass) {
  SmallVector<Value> values = storagesOf(pass);
  SmallVector<std::pair<int64_t, size_t>> order; // of what is needed: bytes, and which value
  int64_t total = 0;
  for (auto [index, value] : llvm::enumerate(values)) {
    bool isPinned = passes.isPinned(value);
    forEachUse(value, [&](Value view, Operation *) { isPinned |= passes.isPinned(view); });
    if (isPinned)
      kept.insert(value);
    if (isNeeded(value)) {
      order.emplace_back(bytesOf(value), index);
      total += order.back().first;
    }
  }
  llvm::sort(order);
  int64_t small = 0;
  for (auto [bytes, index] : order)
    if ((small += bytes) <= total / kSmallShare)
      kept.insert(values[index]);
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

/// Without micro-batches, gradients come into being while the backward pass goes on: that of a parameter at its last use.
std::vector<int64_t> KeptValues::leftBytes(const ForwardPass &pass) const {
  std::vector<int64_t> left(pass.ops.size(), 0);
  if (passes.all().size() > 1)
    return left;
  llvm::DenseMap<Value, int64_t> lastUses; // of what parameters alone make
  for (Operation &op : llvm::reverse(step.getBody().front())) {
    bool isOfPass = op.getNumResults() && passes.passOf(op.getResult(0)) >= 0;
    int64_t place = isOfPass ? passes.placeOf(&op) : -1;
    for (Value result : op.getResults())
      if (auto use = lastUses.find(result); !isOfPass && use != lastUses.end())
        place = std::max(place, use->second);
    if (place < 0)
      continue;
    for (Value operand : op.getOperands())
      if (passes.originOf(operand) == Origin::Given) {
        auto [use, isNew] = lastUses.try_emplace(operand, place);
        use->second = std::max(use->second, place);
      }
  }
  for (BlockArgument argument : step.getBody().getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
    if (auto use = lastUses.find(argument); role && role.getValue() == "parameter" && use != lastUses.end())
      left[use->second] += bytesOf(argument);
  }
  return left;
}

ChainProblem KeptValues::chainOf(const ForwardPass &pass, ArrayRef<Value> values) const {
  ChainProblem chain;
  chain.ops = static_cast<int64_t>(pass.ops.size());
  chain.othersInFlight = pass.othersInFlight;
  chain.isLastKept = pass.isFollowed();
  chain.leftBytes = leftBytes(pass);
  std::vector<int64_t> change(chain.ops + 1, 0), alive(chain.ops + 1, 0);
  for (Value value : values) {
    ChainValue row{bytesOf(value), passes.placeOf(value.getDefiningOp()), lastUse(value), isNeeded(value)};
    // Those of tasks that keep them anyway cost nothing.
    row.bytes = kept.contains(value) ? 0 : row.bytes;
    chain.values.push_back(row);
    change[row.made + 1] += row.bytes;
    if (row.lastUse + 1 <= chain.ops)
      change[row.lastUse + 1] -= row.bytes;
  }
  for (int64_t border = 1; border <= chain.ops; ++border)
    alive[border] = alive[border - 1] + change[border];
  int64_t window = std::max<int64_t>(1, llvm::divideCeil(chain.ops, kMostBorders));
  for (int64_t begin = 1; begin < chain.ops; begin += window) {
    auto first = alive.begin() + begin, last = alive.begin() + std::min(begin + window, chain.ops);
    chain.candidates.push_back(std::min_element(first, last) - alive.begin());
  }
  return chain;
}

void KeptValues::keepBorders(const ForwardPass &pass) {
  SmallVector<Value> values = storagesOf(pass);
  ChainProblem chain = chainOf(pass, values);
  assert(checkChain(chain).empty() && "the chain of a forward pass");
  auto known = llvm::find_if(solved, [&](const auto &other) { return other.first == chain; });
  if (known == solved.end())
    known = solved.insert(solved.end(), {chain, chooseSegments(chain)});
  const std::vector<int64_t> &borders = known->second.borders;
  for (auto [value, row] : llvm::zip(values, chain.values)) {
    auto next = llvm::upper_bound(borders, row.made); // the first border behind it
    bool isAlive = next != borders.end() && *next <= row.lastUse;
    bool isOfLast = next == borders.end() && pass.isFollowed();
    if (isAlive || (isOfLast && row.isNeeded))
      kept.insert(value);
  }
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// A product with parameters, or what is communicated.
bool KeptValues::isHeavy(Operation *op) const {
  return isa<dist::ReshardOp>(op) ||
         (isa<nn::LibraryOpInterface>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
            return passes.originOf(operand) != Origin::Samples && cast<RankedTensorType>(operand.getType()).getRank() > 0;
          }));
}

void KeptValues::keepCut(const ForwardPass &pass) {
  SmallVector<Value> values = storagesOf(pass);
  llvm::DenseMap<Value, int> vertices;
  CutProblem cut;
  for (Value value : values) {
    int vertex = static_cast<int>(cut.costs.size());
    vertices[value] = vertex;
    cut.costs.push_back(kept.contains(value) ? 0 : bytesOf(value));
    Operation *made = value.getDefiningOp();
    if (isHeavy(made))
      cut.sources.push_back(vertex);
    if (isNeeded(value))
      cut.sinks.push_back(vertex);
    for (Value operand : made->getOperands())
      if (auto from = vertices.find(storageOf(operand, passes)); from != vertices.end())
        cut.edges.emplace_back(from->second, vertex);
  }
  for (int vertex : findVertexCut(cut))
    kept.insert(values[vertex]);
}
