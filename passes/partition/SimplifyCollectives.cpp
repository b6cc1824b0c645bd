//===- SimplifyCollectives.cpp - fewer and shared collectives -------------===//

#include "passes/partition/SimplifyCollectives.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"

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

/// all_reduce whose result is only sliced, each time into the same parts, is reduce_scatter.
static void scatterWhatIsSliced(dist::AllReduceOp reduce) {
  if (reduce.getInputs().size() != 1 || reduce->use_empty())
    return;
  auto first = dyn_cast<dist::SliceOp>(*reduce->user_begin());
  auto alike = [&](Operation *user) {
    auto slice = dyn_cast<dist::SliceOp>(user);
    return slice && slice.getMeshAttr() == first.getMeshAttr() && slice.getAxes() == first.getAxes() &&
           slice.getDim() == first.getDim() && slice.getSizesAttr() == first.getSizesAttr();
  };
  bool sameRanks = first && first.getMeshAttr() == reduce.getMeshAttr() &&
                   first.getAxes().size() == reduce.getAxes().size() &&
                   llvm::all_of(first.getAxes(),
                                [&](Attribute axis) { return llvm::is_contained(reduce.getAxes(), axis); });
  if (!sameRanks || !llvm::all_of(reduce->getUsers(), alike))
    return;
  OpBuilder b(reduce);
  auto scatter = dist::ReduceScatterOp::create(
      b, reduce.getLoc(), first.getType(), reduce.getMeshAttr(), first.getAxesAttr(), reduce.getInputs()[0],
      reduce.getReductionAttr(), first.getDimAttr(), first.getSizesAttr());
  for (Operation *slice : llvm::make_early_inc_range(reduce->getUsers())) {
    slice->getResult(0).replaceAllUsesWith(scatter.getResult());
    slice->erase();
  }
  reduce.erase();
}

/// Two collectives that do the same to the same values.
static bool equal(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

/// The first of equal ones serves all.
static void shareEqual(Block &block) {
  DenseMap<Value, SmallVector<Operation *>> byOperand;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<dist::DistDialect>(op.getDialect()))
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
    if (isa<dist::DistDialect>(op.getDialect()) && op.use_empty())
      op.erase();
}

void passes::simplifyCollectives(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block))
    cancelSliceAndGather(&op);
  dropUnused(block);
  shareEqual(block);
  for (auto reduce : llvm::make_early_inc_range(block.getOps<dist::AllReduceOp>()))
    scatterWhatIsSliced(reduce);
  for (nn::AddOp add : llvm::make_early_inc_range(block.getOps<nn::AddOp>()))
    addBeforeReducing(add);
}
