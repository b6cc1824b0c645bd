//===- InPlace.cpp - results computed in the memory of an operand ---------===//

#include "dialects/nn/Analysis/InPlace.h"
#include "dialects/nn/IR/NN.h"

using namespace mlir;
using namespace pdc::nn;

llvm::DenseMap<Value, int> pdc::nn::getReductionPhases(Block &body, const IterationSpace &space) {
  llvm::DenseMap<Value, int> phases;
  for (Value argument : body.getArguments())
    phases[argument] = 0;
  for (Operation &op : body.without_terminator()) {
    int phase = 0;
    for (Value operand : op.getOperands())
      phase = std::max(phase, phases.lookup(operand));
    if (isa<ReduceSumOp, ReduceMaxOp>(op) &&
        space.loopsOf(op.getOperand(0)) != space.loopsOf(op.getResult(0)))
      ++phase;
    phases[op.getResult(0)] = phase;
  }
  return phases;
}

bool pdc::nn::canComputeInPlace(Block &body, const IterationSpace &space, Value from, Value to) {
  LoopSet loops = space.loopsOf(to), all = (LoopSet(1) << space.sizes.size()) - 1,
          parallel = all & ~space.reduced;
  if (from.getType() != to.getType() || space.loopsOf(from) != loops || (loops & parallel) != parallel)
    return false;
  if (!(loops & space.reduced))
    return true; // stored when all else is done
  // The last phase that reads `from`, also through values that are computed again where they are used.
  llvm::DenseMap<Value, int> phases = getReductionPhases(body, space);
  int lastRead = 0;
  llvm::SmallDenseSet<Value> madeOfIt{from};
  for (Operation &op : body.without_terminator()) {
    if (!llvm::any_of(op.getOperands(), [&](Value operand) { return madeOfIt.contains(operand); }))
      continue;
    bool isReduction = isa<ReduceSumOp, ReduceMaxOp>(op);
    lastRead = std::max(lastRead, phases[isReduction ? op.getOperand(0) : op.getResult(0)]);
    if (!isReduction)
      madeOfIt.insert(op.getResult(0));
  }
  return lastRead <= phases[to];
}
