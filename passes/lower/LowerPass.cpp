//===- LowerPass.cpp - from steps to rank programs ------------------------===//

#include "passes/lower/LowerPass.h"
#include "passes/lower/StepLowering.h"

namespace pdc::passes {
#define GEN_PASS_DEF_LOWERPASS
#include "passes/lower/LowerPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

/// No pass merges or moves ops any more: the value that went in is the one that comes out.
static void removeBarriers(nn::StepOp step) {
  for (auto barrier : llvm::make_early_inc_range(step.getBody().front().getOps<dist::OptimizationBarrierOp>())) {
    barrier.replaceAllUsesWith(barrier.getInputs());
    barrier.erase();
  }
}

namespace {
struct Lower : passes::impl::LowerPassBase<Lower> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    passes::Kernels kernels(module);
    for (nn::StepOp step : llvm::make_early_inc_range(module.getOps<nn::StepOp>())) {
      removeBarriers(step);
      if (failed(passes::StepLowering(step, kernels).run()))
        return signalPassFailure();
      step.erase();
    }
    for (dist::MeshOp mesh : llvm::make_early_inc_range(module.getOps<dist::MeshOp>()))
      mesh.erase();
  }
};
} // namespace
