//===- PlanDataParallelPass.cpp - the batch is split over all ranks -------===//

#include "passes/plan_data_parallel/PlanDataParallelPass.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"
#include "passes/layouts/OpLayouts.h"

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

/// The layouts of the values of one step. Partial results are not in here: they are reduced at once, and the
/// layout of a value is what its users see.
class StepPlan {
public:
  StepPlan(nn::StepOp step, int64_t ranks) : step(step), ranks(ranks) {}

  LogicalResult run() {
    if (failed(splitInputs()) || failed(propagate()) || failed(checkArguments()))
      return failure();
    return success(succeeded(writeResultLayouts()) && succeeded(writeOpLayouts()));
  }

private:
  LayoutAttr layoutOf(Value value) {
    auto known = layouts.find(value);
    if (known != layouts.end())
      return known->second;
    return LayoutAttr::getReplicated(value.getContext(), cast<RankedTensorType>(value.getType()).getRank());
  }

  StringRef role(unsigned argument) {
    auto attr = step.getArgAttrOfType<StringAttr>(argument, "nn.role");
    return attr ? attr.getValue() : StringRef();
  }
  StringRef nameOf(DictionaryAttr attributes) {
    auto attr = attributes ? attributes.getAs<StringAttr>("nn.name") : StringAttr();
    return attr ? attr.getValue() : StringRef("?");
  }

  LogicalResult splitInputs() {
    int64_t batch = -1;
    for (BlockArgument argument : step.getBody().getArguments()) {
      if (role(argument.getArgNumber()) != "input")
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      StringRef name = nameOf(step.getArgAttrDict(argument.getArgNumber()));
      if (type.getRank() == 0 || type.isDynamicDim(0))
        return step.emitOpError() << "input '" << name << "' has type " << type
                                  << ", expected the batch, bound to a number, as dimension 0";
      if (batch != -1 && type.getDimSize(0) != batch)
        return step.emitOpError() << "input '" << name << "' has " << type.getDimSize(0)
                                  << " samples, other inputs have " << batch;
      batch = type.getDimSize(0);
      if (batch < ranks)
        return step.emitOpError()
               << "has a batch of " << batch << " for " << ranks
               << " ranks: every rank needs at least one sample; use a larger batch or fewer "
                  "ranks";
      if (ranks > 1)
        layouts[argument] = LayoutAttr::getSplit(step.getContext(), type.getRank(), 0, {kAxis});
    }
    return success();
  }

  /// Takes `layout` for `value` where it splits what was whole.
  bool update(Value value, LayoutAttr layout) {
    if (layoutOf(value) == layout)
      return false;
    layouts[value] = layout;
    return true;
  }

  /// Carries splits through ops in both directions until nothing changes. A factor that one value splits is
  /// split in all values of its op, so layouts only ever gain axes, and this ends.
  LogicalResult propagate() {
    bool changed = true;
    while (changed) {
      changed = false;
      for (Operation &op : step.getBody().front())
        if (failed(propagateThrough(&op, changed)))
          return failure();
      // Backward too, so that chains of ops whose result alone has the batch are not walked once per link.
      for (Operation &op : llvm::reverse(step.getBody().front()))
        if (failed(propagateThrough(&op, changed)))
          return failure();
    }
    return success();
  }

  LogicalResult propagateThrough(Operation *op, bool &changed) {
    if (op->hasTrait<OpTrait::IsTerminator>())
      return success();
    passes::OpLayouts known;
    for (Value operand : op->getOperands())
      known.operands.push_back(layoutOf(operand));
    for (Value result : op->getResults())
      known.results.push_back(layoutOf(result));
    auto whole = [](LayoutAttr layout) { return layout.isReplicated(); };
    if (llvm::all_of(known.operands, whole) && llvm::all_of(known.results, whole))
      return success();
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    if (!shardable)
      return op->emitOpError("works on values that are split over the batch and has no sharding rule");
    FailureOr<passes::OpLayouts> all = passes::completeLayouts(shardable, known);
    if (failed(all))
      return failure();
    for (auto [operand, layout] : llvm::zip(op->getOperands(), all->operands))
      changed |= update(operand, layout);
    for (auto [result, layout] : llvm::zip(op->getResults(), all->results)) {
      if (layout.isPartial())
        partial[result] = layout;
      changed |= update(result, LayoutAttr::get(op->getContext(), layout.getDims(), layout.getBlocks(),
                                                ArrayAttr::get(op->getContext(), {}),
                                                ArrayAttr::get(op->getContext(), {})));
    }
    return success();
  }

  LogicalResult checkArguments() {
    for (BlockArgument argument : step.getBody().getArguments()) {
      unsigned index = argument.getArgNumber();
      LayoutAttr layout = layoutOf(argument);
      if (role(index) != "input" && !layout.isReplicated())
        return step.emitOpError()
               << role(index) << " '" << nameOf(step.getArgAttrDict(index))
               << "' is used together with the batch, dimension by dimension, and would have to be "
                  "split with it; data parallelism keeps it whole";
      step.setArgAttr(index, dist::kLayoutAttr, layout);
    }
    return success();
  }

  LogicalResult writeResultLayouts() {
    Operation *terminator = step.getBody().front().getTerminator();
    for (OpOperand &operand : terminator->getOpOperands()) {
      unsigned index = operand.getOperandNumber();
      auto role = step.getResultAttrOfType<StringAttr>(index, "nn.role");
      LayoutAttr layout = layoutOf(operand.get());
      if (!layout.isReplicated() && (!role || role.getValue() != "output"))
        return step.emitOpError() << "result " << index << " (" << (role ? role.getValue() : "no role")
                                  << " '" << nameOf(step.getResultAttrDict(index))
                                  << "') is split over the batch; only an output may be";
      step.setResultAttr(index, dist::kLayoutAttr, layout);
    }
    return success();
  }

  LogicalResult writeOpLayouts() {
    OpBuilder b(step.getContext());
    for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
      SmallVector<Attribute> attributes;
      bool whole = true;
      for (Value result : op.getResults()) {
        auto found = partial.find(result);
        LayoutAttr layout = found == partial.end() ? layoutOf(result) : found->second;
        attributes.push_back(layout);
        whole &= layout.isReplicated();
      }
      if (!whole)
        op.setAttr(dist::kLayoutsAttr, b.getArrayAttr(attributes));
      b.setInsertionPointAfter(&op);
      for (Value result : op.getResults()) {
        if (!partial.contains(result))
          continue;
        auto reshard = dist::ReshardOp::create(b, op.getLoc(), result.getType(), result);
        reshard->setAttr(dist::kLayoutsAttr, b.getArrayAttr({layoutOf(result)}));
        result.replaceAllUsesExcept(reshard, reshard);
      }
    }
    return success();
  }

  nn::StepOp step;
  int64_t ranks;
  DenseMap<Value, LayoutAttr> layouts;
  DenseMap<Value, LayoutAttr> partial;
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
