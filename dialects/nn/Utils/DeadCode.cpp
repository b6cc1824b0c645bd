//===- DeadCode.cpp - removal of what nothing depends on ------------------===//

#include "dialects/nn/Utils/DeadCode.h"
#include "dialects/nn/IR/NN.h"

using namespace mlir;
using namespace pdc::nn;

void pdc::nn::eraseDeadOps(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.hasTrait<OpTrait::IsTerminator>() || !op.use_empty())
      continue;
    if (isMemoryEffectFree(&op) || isa<ParamOp, StateOp>(op))
      op.erase();
  }
}
