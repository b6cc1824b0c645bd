//===- IterationSpace.cpp - the loops of a generated kernel ---------------===//

#include "dialects/nn/Analysis/IterationSpace.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace pdc::nn;

static RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }

static SmallVector<int64_t> dimensionsLargerThanOne(RankedTensorType type) {
  SmallVector<int64_t> dimensions;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.getDimSize(i) != 1)
      dimensions.push_back(i);
  return dimensions;
}

static bool onlyChangesUnitDimensions(ReshapeOp op) {
  auto sizes = [](Value value) {
    SmallVector<int64_t> kept(tensorType(value).getShape());
    llvm::erase(kept, 1);
    return kept;
  };
  return sizes(op.getInput()) == sizes(op.getResult());
}

bool pdc::nn::isFusible(Operation *op) {
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return onlyChangesUnitDimensions(reshape);
  return isa<ElementwiseOpInterface, ReduceSumOp, ReduceMaxOp, ConstantOp>(op);
}

LoopSet IterationSpace::loopsOf(Value value) const {
  LoopSet set = 0;
  auto found = loops.find(value);
  assert(found != loops.end() && "not a value of the group");
  for (int loop : found->second)
    if (loop >= 0)
      set |= LoopSet(1) << loop;
  return set;
}

namespace {

/// Classes of dimensions that are one loop (union-find over the dimensions of all values), then their order.
class LoopFinder {
public:
  explicit LoopFinder(std::string &reason) : reason(reason) {}

  LogicalResult visit(Operation *op);
  FailureOr<IterationSpace> finish(ArrayRef<Operation *> ops);

private:
  /// Index of the first dimension's node; nodes of a value are consecutive.
  int nodesOf(Value value);
  int find(int node) {
    while (parents[node] != node)
      node = parents[node] = parents[parents[node]];
    return node;
  }
  LogicalResult unite(Value a, int64_t dimensionA, Value b, int64_t dimensionB);
  LogicalResult visitElementwise(Operation *op);
  LogicalResult visitReduction(Operation *op, ArrayRef<int64_t> axes, bool keepDims);
  LogicalResult orderLoops(IterationSpace &space);
  LogicalResult findReduced(ArrayRef<Operation *> ops, IterationSpace &space);

  LogicalResult fail(const Twine &why) {
    reason = why.str();
    return failure();
  }

  std::string &reason;
  SmallVector<Value> values;
  DenseMap<Value, int> firstNode;
  SmallVector<int> parents;
  SmallVector<int64_t> nodeSizes;
};

} // namespace

int LoopFinder::nodesOf(Value value) {
  auto [entry, inserted] = firstNode.try_emplace(value, static_cast<int>(parents.size()));
  if (inserted) {
    values.push_back(value);
    for (int64_t size : tensorType(value).getShape()) {
      parents.push_back(static_cast<int>(parents.size()));
      nodeSizes.push_back(size);
    }
  }
  return entry->second;
}

LogicalResult LoopFinder::unite(Value a, int64_t dimensionA, Value b, int64_t dimensionB) {
  int nodeA = nodesOf(a) + dimensionA, nodeB = nodesOf(b) + dimensionB;
  if (nodeSizes[nodeA] == 1 || nodeSizes[nodeB] == 1)
    return success();
  if (nodeSizes[nodeA] != nodeSizes[nodeB])
    return fail("sizes " + Twine(nodeSizes[nodeA]) + " and " + Twine(nodeSizes[nodeB]) + " do not match");
  // The smaller index stays the representative, so that the order of classes follows that of the program.
  auto [low, high] = std::minmax(find(nodeA), find(nodeB));
  parents[high] = low;
  return success();
}

LogicalResult LoopFinder::visitElementwise(Operation *op) {
  Value result = op->getResult(0);
  int64_t rank = tensorType(result).getRank();
  for (Value operand : op->getOperands()) {
    int64_t operandRank = tensorType(operand).getRank();
    nodesOf(operand);
    for (int64_t i = 0; i < operandRank; ++i)
      if (failed(unite(operand, i, result, i + rank - operandRank)))
        return failure();
  }
  return success();
}

LogicalResult LoopFinder::visitReduction(Operation *op, ArrayRef<int64_t> axes, bool keepDims) {
  Value input = op->getOperand(0), result = op->getResult(0);
  int64_t next = 0;
  nodesOf(input);
  for (int64_t i = 0; i < tensorType(input).getRank(); ++i) {
    if (llvm::is_contained(axes, i)) {
      next += keepDims;
      continue;
    }
    if (failed(unite(input, i, result, next++)))
      return failure();
  }
  return success();
}

LogicalResult LoopFinder::visit(Operation *op) {
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(op->getOperands()), SmallVector<Value>(op->getResults())))
    if (auto type = dyn_cast<RankedTensorType>(value.getType()); !type || !type.hasStaticShape())
      return fail("a kernel needs tensors of static shape");
  if (!isFusible(op))
    return fail("'" + op->getName().getStringRef() +
                "' is neither elementwise nor a reduction nor a constant");
  for (Value result : op->getResults())
    nodesOf(result);
  if (auto reduction = dyn_cast<ReduceSumOp>(op))
    return visitReduction(op, reduction.getAxes(), reduction.getKeepDims());
  if (auto reduction = dyn_cast<ReduceMaxOp>(op))
    return visitReduction(op, reduction.getAxes(), reduction.getKeepDims());
  if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    nodesOf(reshape.getInput()); // one element has no dimension to unite, but is a value of the group
    for (auto [from, to] : llvm::zip_equal(dimensionsLargerThanOne(tensorType(reshape.getInput())),
                                           dimensionsLargerThanOne(tensorType(reshape.getResult()))))
      if (failed(unite(reshape.getInput(), from, reshape.getResult(), to)))
        return failure();
    return success();
  }
  if (isa<ConstantOp>(op))
    return success();
  return visitElementwise(op);
}

/// Orders the classes so that each value's dimensions run outermost first: a topological sort, smallest class
/// first.
LogicalResult LoopFinder::orderLoops(IterationSpace &space) {
  SmallVector<int> classes;
  for (int node = 0; node < static_cast<int>(parents.size()); ++node)
    if (nodeSizes[node] != 1 && find(node) == node)
      classes.push_back(node);
  if (classes.size() > 32)
    return fail("more than 32 loops");
  auto indexOf = [&](int node) {
    return static_cast<int>(llvm::lower_bound(classes, find(node)) - classes.begin());
  };
  SmallVector<LoopSet> before(classes.size(), 0); // per class, the classes that must be outside it
  for (Value value : values) {
    LoopSet outer = 0;
    int first = firstNode[value];
    for (int64_t i = 0; i < tensorType(value).getRank(); ++i) {
      if (nodeSizes[first + i] == 1)
        continue;
      int loop = indexOf(first + i);
      if (outer >> loop & 1)
        return fail("two dimensions of one value would be the same loop");
      before[loop] |= outer;
      outer |= LoopSet(1) << loop;
    }
  }
  SmallVector<int> position(classes.size(), -1);
  LoopSet placed = 0;
  while (space.sizes.size() < classes.size()) {
    int next = 0;
    while (next < static_cast<int>(classes.size()) && ((placed >> next & 1) || (before[next] & ~placed)))
      ++next;
    if (next == static_cast<int>(classes.size()))
      return fail("dimensions would have to be transposed");
    position[next] = static_cast<int>(space.sizes.size());
    space.sizes.push_back(nodeSizes[classes[next]]);
    placed |= LoopSet(1) << next;
  }
  for (Value value : values) {
    int first = firstNode[value];
    SmallVector<int, 4> &loops = space.loops[value];
    for (int64_t i = 0; i < tensorType(value).getRank(); ++i)
      loops.push_back(nodeSizes[first + i] == 1 ? -1 : position[indexOf(first + i)]);
  }
  return success();
}

LogicalResult LoopFinder::findReduced(ArrayRef<Operation *> ops, IterationSpace &space) {
  for (Operation *op : ops) {
    if (!isa<ReduceSumOp, ReduceMaxOp>(op))
      continue;
    LoopSet reduced = space.loopsOf(op->getOperand(0)) & ~space.loopsOf(op->getResult(0));
    if (!reduced)
      continue;
    if (space.reduced && space.reduced != reduced)
      return fail("reductions over different dimensions");
    space.reduced = reduced;
  }
  return success();
}

FailureOr<IterationSpace> LoopFinder::finish(ArrayRef<Operation *> ops) {
  IterationSpace space;
  if (failed(orderLoops(space)) || failed(findReduced(ops, space)))
    return failure();
  LoopSet all = (LoopSet(1) << space.sizes.size()) - 1;
  if (!llvm::any_of(values, [&](Value value) { return space.loopsOf(value) == all; }))
    return (void)fail("no value runs over all loops"), failure();
  return space;
}

FailureOr<IterationSpace> pdc::nn::getIterationSpace(ArrayRef<Operation *> ops, std::string &reason) {
  LoopFinder finder(reason);
  for (Operation *op : ops)
    if (!op->hasTrait<OpTrait::IsTerminator>() && failed(finder.visit(op)))
      return failure();
  return finder.finish(ops);
}
