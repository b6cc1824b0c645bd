//===- PartitionPass.cpp - from global to local shapes --------------------===//

#include "passes/partition/PartitionPass.h"
#include "passes/partition/InputLayouts.h"
#include "passes/partition/SimplifyCollectives.h"
#include "passes/partition/SplitOpsByParts.h"
#include "passes/partition/StepPartition.h"

namespace pdc::passes {
#define GEN_PASS_DEF_PARTITIONPASS
#include "passes/partition/PartitionPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

/// The step on one device: every value replicated, nothing to reshard.
static void makeReference(OpBuilder &b, nn::StepOp step, StringRef name) {
  auto reference = cast<nn::StepOp>(b.clone(*step.getOperation()));
  reference.setSymName(name);
  reference->removeAttr(dist::kMeshAttr);
  reference->setAttr(dist::kReferenceAttr, b.getUnitAttr());
  reference->setAttr(dist::kRanksAttr,
                     b.getDenseI64ArrayAttr(llvm::to_vector(llvm::seq<int64_t>(0, dist::countRanks(step->getParentOp())))));
  for (unsigned i = 0; i < reference.getNumArguments(); ++i)
    reference.removeArgAttr(i, b.getStringAttr(dist::kLayoutAttr));
  for (unsigned i = 0; i < reference.getNumResults(); ++i)
    reference.removeResultAttr(i, b.getStringAttr(dist::kLayoutAttr));
  for (Operation &op : llvm::make_early_inc_range(reference.getBody().front())) {
    op.removeAttr(dist::kLayoutsAttr);
    if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
      reshard.replaceAllUsesWith(reshard.getInput());
      reshard.erase();
    }
  }
}

/// Later passes may order the ops of variants differently, whose shapes differ; then the checker of programs sees that
/// members of a group do not start the same collective. Those over the same axes are counted: replicas that take micro-batches
/// in turn have different numbers of collectives within each, and the same over all.
static void numberCollectives(OpBuilder &b, Block &block) {
  DenseMap<std::pair<Attribute, Attribute>, int64_t> next;
  for (Operation &op : block)
    if (isa<dist::AllReduceOp, dist::AllGatherOp, dist::ReduceScatterOp, dist::AllToAllOp, dist::BroadcastOp>(
            op))
      op.setAttr(dist::kOrderAttr, b.getI64IntegerAttr(next[{op.getAttr("mesh"), op.getAttr("axes")}]++));
}

namespace {
struct Partition : passes::impl::PartitionPassBase<Partition> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder b(module.getContext());
    hasReference = llvm::any_of(module.getOps<nn::StepOp>(),
                                [](nn::StepOp step) { return step->hasAttr(dist::kReferenceAttr); });
    for (nn::StepOp step : llvm::make_early_inc_range(module.getOps<nn::StepOp>()))
      if (failed(partition(b, step)))
        return signalPassFailure();
  }

  LogicalResult partition(OpBuilder &b, nn::StepOp step) {
    if (step->hasAttr(dist::kRanksAttr))
      return step.emitOpError("is partitioned already");
    FailureOr<dist::MeshOp> found = passes::findMesh(step);
    if (failed(found))
      return failure();
    dist::MeshOp mesh = *found;
    FailureOr<dist::MeshOp> replica = passes::findReplica(step);
    if (failed(replica))
      return failure();
    if (failed(passes::splitOpsByParts(step, mesh)) || failed(passes::checkLayouts(step, mesh)))
      return failure();
    passes::makeInputsLoadable(step, mesh);
    FailureOr<passes::ReshardPlans> reshards = passes::planReshards(step, mesh);
    if (failed(reshards))
      return failure();
    passes::TransferPlans transfers = passes::planTransfers(step);
    b.setInsertionPoint(step);
    std::string name = step.getSymName().str();
    // Of a pipeline's stages none is the whole; `pipeline` left one.
    bool isReference = step->hasAttr(dist::kReferenceAttr);
    if (isReference || (step.getKind() == "gradient" && !hasReference))
      makeReference(b, step, isReference ? name : "reference_" + name);
    if (isReference)
      return step.erase(), success();
    for (auto [index, ranks] : llvm::enumerate(passes::findVariants(step, mesh, *replica, *reshards, transfers))) {
      std::string variant = index == 0 ? name : name + "_" + std::to_string(index);
      FailureOr<nn::StepOp> local =
          passes::buildLocalStep(b, step, mesh, ranks, *reshards, transfers, variant);
      if (failed(local))
        return failure();
      passes::simplifyCollectives(local->getBody().front());
      numberCollectives(b, local->getBody().front());
    }
    step.erase();
    return success();
  }

  bool hasReference = false;
};
} // namespace
