//===- PlanDataParallelPass.cpp - the batch is split over all ranks -------===//

#include "passes/plan_data_parallel/PlanDataParallelPass.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "passes/layouts/BatchSplit.h"

namespace pdc::passes {
#define GEN_PASS_DEF_PLANDATAPARALLELPASS
#include "passes/plan_data_parallel/PlanDataParallelPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;
using dist::LayoutAttr;

static constexpr StringLiteral kAxis = "data";
static constexpr StringLiteral kMesh = "mesh";

namespace {

/// The layouts of the values of one step.
class StepPlan {
public:
  StepPlan(nn::StepOp step, int64_t ranks) : step(step), split(step, {kAxis, ranks}) {}

  LogicalResult run() {
    if (failed(split.run()))
      return failure();
    for (BlockArgument argument : step.getBody().getArguments())
      step.setArgAttr(argument.getArgNumber(), dist::kLayoutAttr, split.layoutOf(argument));
    for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands())
      step.setResultAttr(operand.getOperandNumber(), dist::kLayoutAttr, split.layoutOf(operand.get()));
    writeOpLayouts();
    return success();
  }

private:
  void writeOpLayouts() {
    OpBuilder b(step.getContext());
    for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
      SmallVector<Attribute> attributes;
      bool whole = true;
      for (Value result : op.getResults()) {
        LayoutAttr partial = split.partialOf(result), layout = partial ? partial : split.layoutOf(result);
        attributes.push_back(layout);
        whole &= layout.isReplicated();
      }
      if (!whole)
        op.setAttr(dist::kLayoutsAttr, b.getArrayAttr(attributes));
      b.setInsertionPointAfter(&op);
      for (Value result : op.getResults()) {
        if (!split.partialOf(result))
          continue;
        auto reshard = dist::ReshardOp::create(b, op.getLoc(), result.getType(), result);
        reshard->setAttr(dist::kLayoutsAttr, b.getArrayAttr({split.layoutOf(result)}));
        result.replaceAllUsesExcept(reshard, reshard);
      }
    }
  }

  nn::StepOp step;
  passes::BatchSplit split;
};

struct PlanDataParallel : passes::impl::PlanDataParallelPassBase<PlanDataParallel> {
  using PlanDataParallelPassBase::PlanDataParallelPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (ranks < 1) {
      module.emitError() << "expected at least one rank, found ranks=" << ranks;
      return signalPassFailure();
    }
    if (Operation *taken = module.lookupSymbol(kMesh)) {
      taken->emitError() << "the plan's mesh needs the name @" << kMesh
                         << "; is this module planned already?";
      return signalPassFailure();
    }
    OpBuilder b(module.getBodyRegion());
    b.setInsertionPointToStart(module.getBody());
    dist::MeshOp::create(b, module.getLoc(), kMesh, b.getStrArrayAttr({kAxis}),
                         b.getDenseI64ArrayAttr({ranks}));
    for (nn::StepOp step : module.getOps<nn::StepOp>()) {
      step->setAttr(dist::kMeshAttr, FlatSymbolRefAttr::get(module.getContext(), kMesh));
      if (failed(StepPlan(step, ranks).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
