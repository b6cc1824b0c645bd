//===- DecomposePass.cpp - composite ops become simpler ones --------------===//

#include "passes/decompose/DecomposePass.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "passes/decompose/DecomposePass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

static LogicalResult decomposeOp(nn::DecomposableOpInterface op) {
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> parts = op.decompose(builder);
  if (failed(parts))
    return op.emitOpError("could not be decomposed");
  if (parts->size() != op->getNumResults())
    return op.emitOpError("has ") << op->getNumResults() << " results but decomposes into " << parts->size();
  for (auto [index, result, part] : llvm::enumerate(op->getResults(), *parts)) {
    if (part.getType() != result.getType())
      return op.emitOpError("decomposes its result ")
             << index << " into a value of type " << part.getType() << ", expected " << result.getType();
    result.replaceAllUsesWith(part);
  }
  op->erase();
  return success();
}

LogicalResult passes::decomposeOps(Operation *root, nn::DecomposeStage stage) {
  // Parts may be composite themselves: repeat until none is left. Each round replaces ops by simpler ones, so
  // the number of rounds is the depth of that nesting.
  while (true) {
    SmallVector<nn::DecomposableOpInterface> ops;
    root->walk([&](nn::DecomposableOpInterface op) {
      if (op.getDecomposeStage() <= stage)
        ops.push_back(op);
    });
    if (ops.empty())
      return success();
    for (nn::DecomposableOpInterface op : ops)
      if (failed(decomposeOp(op)))
        return failure();
  }
}

namespace {
class Decompose : public passes::impl::DecomposePassBase<Decompose> {
public:
  using DecomposePassBase::DecomposePassBase;
  void runOnOperation() override {
    if (failed(passes::decomposeOps(getOperation(), stage)))
      signalPassFailure();
  }
};
} // namespace
