//===- RecomputePass.cpp - activations that are not kept ------------------===//

#include "passes/recompute/RecomputePass.h"
#include "passes/partition/StepPartition.h"
#include "passes/recompute/Recomputation.h"

namespace pdc::passes {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/recompute/RecomputePass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

FailureOr<SmallVector<dist::Recompute>> passes::getRecompute(ModuleOp module, int64_t stages) {
  SmallVector<dist::Recompute> stated;
  Attribute attribute = module->getAttr(dist::kRecomputeAttr);
  if (!attribute)
    return stated;
  auto refuse = [&]() -> FailureOr<SmallVector<dist::Recompute>> {
    return module.emitError() << "has " << dist::kRecomputeAttr << " = " << attribute << ", expected a list of "
                              << stages << " of the words \"none\", \"full\" and \"selective\", one for each stage",
           failure();
  };
  auto words = dyn_cast<ArrayAttr>(attribute);
  if (!words || static_cast<int64_t>(words.size()) != stages)
    return refuse();
  for (Attribute word : words) {
    auto text = dyn_cast<StringAttr>(word);
    std::optional<dist::Recompute> recompute = text ? dist::parseRecompute(text.getValue()) : std::nullopt;
    if (!recompute)
      return refuse();
    stated.push_back(*recompute);
  }
  return stated;
}

namespace {

int64_t stageOf(nn::StepOp step) {
  auto stage = step->getAttrOfType<IntegerAttr>(dist::kStageAttr);
  return stage ? stage.getInt() : 0;
}

struct Recompute : passes::impl::RecomputePassBase<Recompute> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t stages = 1;
    for (nn::StepOp step : module.getOps<nn::StepOp>())
      stages = std::max(stages, stageOf(step) + 1);
    FailureOr<SmallVector<dist::Recompute>> stated = getRecompute(module, stages);
    if (failed(stated))
      return signalPassFailure();
    bool hasReference = llvm::any_of(module.getOps<nn::StepOp>(),
                                     [](nn::StepOp step) { return step->hasAttr(dist::kReferenceAttr); });
    for (nn::StepOp step : llvm::make_early_inc_range(module.getOps<nn::StepOp>())) {
      bool isBackward = step.getKind() == "train" || step.getKind() == "gradient";
      dist::Recompute recompute = stated->empty() ? dist::Recompute::None : (*stated)[stageOf(step)];
      if (!isBackward || recompute == dist::Recompute::None || step->hasAttr(dist::kReferenceAttr))
        continue;
      FailureOr<dist::MeshOp> mesh = findMesh(step);
      if (failed(mesh))
        return signalPassFailure();
      if (step.getKind() == "gradient" && !hasReference)
        leaveReference(step);
      ForwardPasses forward(step);
      Recomputation(step, forward, KeptValues(step, forward, *mesh, recompute)).run();
    }
  }

  /// What `verify` compares with keeps everything.
  static void leaveReference(nn::StepOp step) {
    OpBuilder b(step);
    auto reference = cast<nn::StepOp>(b.clone(*step));
    reference.setSymName("reference_" + step.getSymName().str());
    reference->setAttr(dist::kReferenceAttr, b.getUnitAttr());
  }
};

} // namespace
