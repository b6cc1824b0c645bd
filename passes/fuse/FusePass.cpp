//===- FusePass.cpp - groups of ops become kernels ------------------------===//

#include "passes/fuse/FusePass.h"
#include "dialects/nn/Analysis/IterationSpace.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/decompose/DecomposePass.h"
#include "passes/fuse/FusionBuilder.h"
#include "passes/fuse/FusionPlan.h"
#include "passes/fuse/Label.h"

namespace pdc::passes {
#define GEN_PASS_DEF_FUSEPASS
#include "passes/fuse/FusePass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

static LogicalResult fuseStep(nn::StepOp step) {
  passes::nameCompositeOps(step);
  if (failed(passes::decomposeOps(step, nn::DecomposeStage::BeforeFusion)))
    return failure();
  // A layer and its gradient compute the same maxima, exponentials and means.
  IRRewriter rewriter(step.getContext());
  DominanceInfo dominance(step);
  eliminateCommonSubExpressions(rewriter, dominance, step);
  auto isUpdateResult = [&](unsigned result) {
    auto role = step.getResultAttrOfType<StringAttr>(result, "nn.role");
    return role && (role.getValue() == "parameter" || role.getValue() == "optimizer_state");
  };
  passes::FusionPlan plan(step.getBody().front(), isUpdateResult);
  plan.run();
  if (failed(passes::buildFusions(step, plan)))
    return failure();
  passes::donateOldValues(step);
  return passes::verifyFused(step);
}

LogicalResult passes::verifyFused(Operation *root) {
  bool isValid = true;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto fusion = dyn_cast<nn::FusionOp>(op)) {
      SmallVector<Operation *> ops;
      for (Operation &inner : fusion.getBody().front().without_terminator())
        ops.push_back(&inner);
      std::string reason;
      if (failed(nn::getIterationSpace(ops, reason))) {
        fusion.emitOpError("cannot be one kernel: ") << reason;
        isValid = false;
      }
      return WalkResult::skip();
    }
    if (isa<nn::DecomposableOpInterface>(op) || (passes::isOfKernels(op) && !isa<nn::ReshapeOp>(op))) {
      op->emitOpError(
          "stands outside of a fusion: expected library calls, changes of layout and collectives only");
      isValid = false;
    }
    return WalkResult::advance();
  });
  return success(isValid);
}

namespace {
class Fuse : public passes::impl::FusePassBase<Fuse> {
public:
  using FusePassBase::FusePassBase;
  void runOnOperation() override {
    for (auto step : getOperation().getOps<nn::StepOp>())
      if (failed(fuseStep(step)))
        return signalPassFailure();
  }
};
} // namespace
