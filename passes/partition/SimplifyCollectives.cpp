//===- SimplifyCollectives.cpp - fewer and shared collectives -------------===//

#include "passes/partition/SimplifyCollectives.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace pdc;

/// all_reduce(a) + all_reduce(b) = all_reduce(a + b).
static void addBeforeReducing(nn::AddOp add) {
  auto lhs = add.getLhs().getDefiningOp<dist::AllReduceOp>();
  auto rhs = add.getRhs().getDefiningOp<dist::AllReduceOp>();
  if (!lhs || !rhs || lhs == rhs || lhs.getInputs().size() != 1 || rhs.getInputs().size() != 1)
    return;
  bool alike = lhs.getReduction() == dist::Reduction::Sum && rhs.getReduction() == dist::Reduction::Sum &&
               lhs.getMeshAttr() == rhs.getMeshAttr() && lhs.getAxes() == rhs.getAxes() &&
               add.getLhs().getType() == add.getRhs().getType();
  if (!alike || !lhs->hasOneUse() || !rhs->hasOneUse())
    return;
  OpBuilder b(add);
  b.setInsertionPointAfter(add);
  auto reduce = dist::AllReduceOp::create(b, add.getLoc(), add->getResultTypes(), lhs.getReductionAttr(),
                                          lhs.getMeshAttr(), lhs.getAxesAttr(), ValueRange{add.getResult()},
                                          IntegerAttr());
  add.getResult().replaceAllUsesExcept(reduce.getResult(0), reduce);
  add->setOperands({lhs.getInputs()[0], rhs.getInputs()[0]});
  lhs.erase();
  rhs.erase();
}

/// Two collectives that do the same to the same values.
static bool equal(Operation *a, Operation *b) {
  return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::IgnoreLocations);
}

void passes::simplifyCollectives(Block &block) {
  SmallVector<nn::AddOp> adds(block.getOps<nn::AddOp>());
  for (nn::AddOp add : adds)
    addBeforeReducing(add);
  DenseMap<Value, SmallVector<Operation *>> byOperand;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<dist::DistDialect>(op.getDialect()))
      continue;
    if (op.use_empty()) {
      op.erase();
      continue;
    }
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
