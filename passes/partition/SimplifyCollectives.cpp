//===- SimplifyCollectives.cpp - fewer and shared collectives -------------===//

#include "passes/partition/SimplifyCollectives.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace pdc;

/// reduce(a) + reduce(b) = reduce(a + b), for all_reduce and reduce_scatter of sums.
static void addBeforeReducing(nn::AddOp add) {
  Operation *lhs = add.getLhs().getDefiningOp(), *rhs = add.getRhs().getDefiningOp();
  if (!lhs || !rhs || lhs == rhs || lhs->getName() != rhs->getName() || lhs->getAttrs() != rhs->getAttrs() ||
      lhs->getNumOperands() != 1 || rhs->getNumOperands() != 1 || !lhs->hasOneUse() || !rhs->hasOneUse())
    return;
  auto reduction = lhs->getAttrOfType<dist::ReductionAttr>("reduction");
  if (!isa<dist::AllReduceOp, dist::ReduceScatterOp>(lhs) || reduction.getValue() != dist::Reduction::Sum ||
      lhs->getResultTypes() != rhs->getResultTypes() || add.getLhs().getType() != add.getResult().getType())
    return;
  OpBuilder b(add);
  auto sum = nn::AddOp::create(b, add.getLoc(), lhs->getOperand(0).getType(), lhs->getOperand(0),
                               rhs->getOperand(0));
  lhs->setOperands(sum.getResult());
  lhs->moveAfter(sum);
  add.getResult().replaceAllUsesWith(lhs->getResult(0));
  add.erase();
  rhs->erase();
}

/// The slice of what was gathered is what was there before, and so is what is gathered of slices.
static void cancelSliceAndGather(Operation *op) {
  auto cancels = [&](auto outer, auto inner) {
    if (!inner || outer.getMeshAttr() != inner.getMeshAttr() || outer.getAxes() != inner.getAxes() ||
        outer.getDim() != inner.getDim() || outer.getSizesAttr() != inner.getSizesAttr())
      return;
    outer.getResult().replaceAllUsesWith(inner.getInput());
    outer.erase();
  };
  if (auto slice = dyn_cast<dist::SliceOp>(op))
    cancels(slice, slice.getInput().getDefiningOp<dist::AllGatherOp>());
  else if (auto gather = dyn_cast<dist::AllGatherOp>(op))
    cancels(gather, gather.getInput().getDefiningOp<dist::SliceOp>());
}

/// The slice that every use of the value makes, over axes of the same mesh as `op`; null if there are others.
static dist::SliceOp onlySlice(Value value, Operation *op) {
  auto first = value.use_empty() ? dist::SliceOp() : dyn_cast<dist::SliceOp>(*value.user_begin());
  auto alike = [&](Operation *user) {
    auto slice = dyn_cast<dist::SliceOp>(user);
    return slice && slice.getMeshAttr() == first.getMeshAttr() && slice.getAxes() == first.getAxes() &&
           slice.getDim() == first.getDim() && slice.getSizesAttr() == first.getSizesAttr();
  };
  bool sameMesh = first && first.getMeshAttr() == op->getAttr("mesh");
  return sameMesh && llvm::all_of(value.getUsers(), alike) ? first : dist::SliceOp();
}

/// `value`, whose users are slices, is what `op` made; `part` is what they are.
static void replaceSlices(Operation *op, Value value, Value part) {
  for (Operation *slice : llvm::make_early_inc_range(value.getUsers())) {
    slice->getResult(0).replaceAllUsesWith(part);
    slice->erase();
  }
  op->erase();
}

static bool isAmong(Attribute axis, ArrayAttr axes) { return llvm::is_contained(axes, axis); }

static dist::SliceOp sliceOf(OpBuilder &b, Value value, RankedTensorType type, dist::SliceOp like) {
  return dist::SliceOp::create(b, like.getLoc(), type, like.getMeshAttr(), like.getAxesAttr(), value,
                               like.getDimAttr(), like.getSizesAttr());
}

static Value allReduceOf(OpBuilder &b, Value value, ArrayAttr axes, dist::AllReduceOp like) {
  return dist::AllReduceOp::create(b, like.getLoc(), TypeRange(value.getType()), like.getReductionAttr(),
                                   like.getMeshAttr(), axes, ValueRange(value), IntegerAttr())
      .getResult(0);
}

/// all_reduce whose result is only sliced, each time into the same parts. Over axes of the reduction: it is
/// reduce_scatter, and all_reduce of the parts over what other axes the reduction has. Over other axes: the parts are cut
/// out before.
static void reduceParts(dist::AllReduceOp reduce) {
  dist::SliceOp slice =
      reduce.getInputs().size() == 1 ? onlySlice(reduce.getResult(0), reduce) : dist::SliceOp();
  if (!slice)
    return;
  OpBuilder b(reduce);
  SmallVector<Attribute> others;
  llvm::copy_if(reduce.getAxes(), std::back_inserter(others),
                [&](Attribute axis) { return !isAmong(axis, slice.getAxes()); });
  size_t shared = reduce.getAxes().size() - others.size();
  Value part;
  if (shared == 0) {
    part = allReduceOf(b, sliceOf(b, reduce.getInputs()[0], slice.getType(), slice), reduce.getAxesAttr(),
                       reduce);
  } else if (shared == slice.getAxes().size()) {
    part = dist::ReduceScatterOp::create(b, reduce.getLoc(), slice.getType(), reduce.getMeshAttr(),
                                         slice.getAxesAttr(), reduce.getInputs()[0],
                                         reduce.getReductionAttr(), slice.getDimAttr(), slice.getSizesAttr());
    if (!others.empty())
      part = allReduceOf(b, part, b.getArrayAttr(others), reduce);
  } else {
    return;
  }
  replaceSlices(reduce, reduce.getResult(0), part);
}

/// all_gather of one dimension whose result is only sliced along another, each time into the same parts. Over the same
/// axes: it is all_to_all. Over other axes: the parts are cut out before.
static void gatherParts(dist::AllGatherOp gather) {
  dist::SliceOp slice = onlySlice(gather.getResult(), gather);
  if (!slice || slice.getDim() == gather.getDim())
    return;
  OpBuilder b(gather);
  Value part;
  if (slice.getAxes() == gather.getAxes()) {
    part = dist::AllToAllOp::create(b, gather.getLoc(), slice.getType(), gather.getMeshAttr(),
                                    gather.getAxesAttr(), gather.getInput(), slice.getDimAttr(),
                                    gather.getDimAttr(), slice.getSizesAttr(), gather.getSizesAttr());
  } else if (llvm::none_of(slice.getAxes(),
                           [&](Attribute axis) { return isAmong(axis, gather.getAxes()); })) {
    SmallVector<int64_t> shape(gather.getInput().getType().getShape());
    shape[slice.getDim()] = slice.getType().getDimSize(slice.getDim());
    Value cut = sliceOf(b, gather.getInput(), gather.getInput().getType().clone(shape), slice);
    part = dist::AllGatherOp::create(b, gather.getLoc(), slice.getType(), gather.getMeshAttr(),
                                     gather.getAxesAttr(), cut, gather.getDimAttr(), gather.getSizesAttr());
  } else {
    return;
  }
  replaceSlices(gather, gather.getResult(), part);
}

/// Two collectives that do the same to the same values.
static bool equal(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

/// Messages and tasks are there for what they do.
static bool isValueOnly(Operation *op) {
  return isa<dist::DistDialect>(op->getDialect()) && isMemoryEffectFree(op);
}

/// The first of equal ones serves all.
static void shareEqual(Block &block) {
  DenseMap<Value, SmallVector<Operation *>> byOperand;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isValueOnly(&op))
      continue;
    SmallVector<Operation *> &same = byOperand[op.getNumOperands() ? op.getOperand(0) : Value()];
    auto found = llvm::find_if(same, [&](Operation *other) { return equal(other, &op); });
    if (found == same.end()) {
      same.push_back(&op);
      continue;
    }
    op.replaceAllUsesWith(*found);
    op.erase();
  }
}

static void dropUnused(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isValueOnly(&op) && op.use_empty())
      op.erase();
}

void passes::simplifyCollectives(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    cancelSliceAndGather(&op);
  dropUnused(block);
  shareEqual(block);
  for (auto reduce : llvm::make_early_inc_range(block.getOps<dist::AllReduceOp>()))
    reduceParts(reduce);
  for (auto gather : llvm::make_early_inc_range(block.getOps<dist::AllGatherOp>()))
    gatherParts(gather);
  for (nn::AddOp add : llvm::make_early_inc_range(block.getOps<nn::AddOp>()))
    addBeforeReducing(add);
}
