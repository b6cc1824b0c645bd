//===- VerifyParallelPasses.cpp - what partition and lower leave ----------===//

#include "passes/verify_parallel/VerifyParallelPasses.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"

namespace pdc::passes {
#define GEN_PASS_DEF_VERIFYPARTITIONEDPASS
#define GEN_PASS_DEF_VERIFYLOWEREDPASS
#include "passes/verify_parallel/VerifyParallelPasses.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

namespace {

struct VerifyPartitioned : passes::impl::VerifyPartitionedPassBase<VerifyPartitioned> {
  void runOnOperation() override {
    for (nn::StepOp step : getOperation().getOps<nn::StepOp>()) {
      if (!step->hasAttr(dist::kRanksAttr)) {
        step.emitOpError("is for no ranks; partition must have given it dist.ranks");
        return signalPassFailure();
      }
      WalkResult result = step.walk([](Operation *op) {
        if (isa<dist::ReshardOp, dist::SummandOp, dist::StageSendOp, dist::StageReceiveOp, dist::StageWaitOp>(op))
          return op->emitOpError("is left after partition"), WalkResult::interrupt();
        if (op->hasAttr(dist::kLayoutsAttr))
          return op->emitOpError("has a layout that partition did not resolve"), WalkResult::interrupt();
        return WalkResult::advance();
      });
      if (result.wasInterrupted())
        return signalPassFailure();
    }
  }
};

struct VerifyLowered : passes::impl::VerifyLoweredPassBase<VerifyLowered> {
  using VerifyLoweredPassBase::VerifyLoweredPassBase;

  void runOnOperation() override {
    for (Operation &op : *getOperation().getBody()) {
      if (isa<rt::DefineOp>(op))
        continue;
      auto program = dyn_cast<rt::ProgramOp>(op);
      if (!program) {
        op.emitOpError("is left after lower; expected rt.program and rt.define only");
        return signalPassFailure();
      }
      if (failed(verifyProgram(program)))
        return signalPassFailure();
    }
  }

  LogicalResult verifyProgram(rt::ProgramOp program) {
    if (placed && (!program.getPrivateBytes() || !program.getSharedBytes()))
      return program.emitOpError("has no sizes of its arenas; memory must have set them");
    for (Operation &op : program.getBody().front()) {
      if (!isa<rt::RtDialect>(op.getDialect()))
        return op.emitOpError("is left in a rank program after lower");
      if (auto kernel = dyn_cast<rt::KernelOp>(op);
          kernel &&
          !SymbolTable::lookupNearestSymbolFrom<rt::DefineOp>(program->getParentOp(), kernel.getCalleeAttr()))
        return kernel.emitOpError() << "calls " << kernel.getCalleeAttr() << ", which is no rt.define";
      if (auto buffer = dyn_cast<rt::BufferOp>(op); placed && buffer && !buffer.getOffset())
        return buffer.emitOpError("has no place in an arena; memory must have set its offset");
    }
    return success();
  }
};

} // namespace
