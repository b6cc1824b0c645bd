//===- ReplicaPlan.cpp - a plan whose replicas take micro-batches in turn ===//

#include "passes/pipeline/ReplicaPlan.h"
#include "mlir/IR/Builders.h"
#include "passes/pipeline/ValueLayouts.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

//===----------------------------------------------------------------------===//
// Replicas
//===----------------------------------------------------------------------===//

FailureOr<ArrayAttr> passes::findReplicaAxes(nn::StepOp step, dist::MeshOp mesh) {
  ArrayAttr axes;
  for (BlockArgument argument : step.getBody().getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
    if (!role || role.getValue() != "input" || cast<RankedTensorType>(argument.getType()).getRank() == 0)
      continue;
    ArrayAttr own = dist::getLayout(argument).getAxes(0);
    if (axes && own != axes)
      return step.emitOpError() << "splits the samples of its inputs over " << axes << " and over " << own
                                << ": its replicas cannot take micro-batches in turn",
             failure();
    axes = own;
  }
  if (!axes)
    axes = ArrayAttr::get(step.getContext(), {});
  size_t next = 0; // of the mesh's axes, those that split anything
  for (auto [name, size] : llvm::zip(mesh.getAxisNames(), mesh.getAxisSizes()))
    if (size > 1 && next < axes.size() && name != axes[next++])
      return step.emitOpError() << "splits samples over " << axes << ", which are not the first axes of mesh @"
                                << mesh.getSymName()
                                << ": its replicas, whose ranks do not follow each other, cannot take micro-batches in turn",
             failure();
  return axes;
}

SmallVector<dist::MeshOp> passes::makeReplicaMeshes(dist::MeshOp mesh, ArrayAttr axes) {
  SmallVector<dist::MeshOp> replicas;
  OpBuilder b(mesh->getContext());
  b.setInsertionPointAfter(mesh);
  SmallVector<int64_t> sizes(mesh.getAxisSizes());
  for (auto [name, size] : llvm::zip(mesh.getAxisNames(), sizes))
    if (llvm::is_contained(axes, name))
      size = 1;
  for (int64_t i = 0, count = mesh.getParts(axes); i < count; ++i) {
    auto replica = dist::MeshOp::create(b, mesh.getLoc(), (mesh.getSymName() + "_replica" + Twine(i)).str(),
                                        mesh.getAxisNamesAttr(), b.getDenseI64ArrayAttr(sizes));
    if (int64_t first = mesh.getFirst() + i * replica.getNumRanks(); first > 0)
      replica.setFirstRank(first);
    replicas.push_back(replica);
  }
  return replicas;
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LayoutAttr passes::withinReplica(LayoutAttr layout, ArrayAttr axes) {
  Builder b(layout.getContext());
  auto rest = [&](ArrayAttr of) {
    SmallVector<Attribute> left;
    llvm::copy_if(of, std::back_inserter(left), [&](Attribute axis) { return !llvm::is_contained(axes, axis); });
    return b.getArrayAttr(left);
  };
  SmallVector<Attribute> dims;
  SmallVector<int64_t> blocks(layout.getBlocks().asArrayRef());
  for (auto [split, block] : llvm::zip(layout.getDims(), blocks)) {
    dims.push_back(rest(cast<ArrayAttr>(split)));
    if (cast<ArrayAttr>(dims.back()).empty())
      block = 1;
  }
  return LayoutAttr::get(layout.getContext(), b.getArrayAttr(dims), b.getDenseI64ArrayAttr(blocks), rest(layout.getSum()),
                         rest(layout.getMax()));
}

namespace {
class TurnTaking {
public:
  TurnTaking(PlannedStep &plan, const StepClasses &classes, ArrayAttr axes)
      : plan(plan), classes(classes), axes(axes), b(plan.step.getContext()) {}

  void run() {
    for (BlockArgument argument : plan.step.getBody().getArguments())
      if (isOfMicroBatch(argument) && plan.step.getArgAttr(argument.getArgNumber(), dist::kLayoutAttr))
        plan.step.setArgAttr(argument.getArgNumber(), dist::kLayoutAttr, within(dist::getLayout(argument)));
    for (Operation &op : llvm::make_early_inc_range(plan.step.getBody().front().without_terminator()))
      if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
        if (Value root = rootOfReshards(reshard); isOfMicroBatch(root) && !isSum(root))
          setLayoutOf(reshard.getResult(), within(dist::getLayout(reshard.getResult())));
      } else if (classes.isPerMicroBatch(plan.bareOf(&op))) {
        for (OpOperand &operand : op.getOpOperands())
          takeWithin(operand);
        for (Value result : op.getResults())
          changeResult(result);
      }
  }

private:
  LayoutAttr within(LayoutAttr layout) const { return withinReplica(layout, axes); }

  bool isOfMicroBatch(Value planned) const {
    if (Operation *made = planned.getDefiningOp())
      return classes.isPerMicroBatch(plan.bareOf(made));
    auto role = plan.step.getArgAttrOfType<StringAttr>(cast<BlockArgument>(planned).getArgNumber(), "nn.role");
    return role && role.getValue() == "input";
  }

  bool isSum(Value planned) const {
    return planned.getDefiningOp() && classes.isSummed(plan.bareOf(planned));
  }

  void setLayoutOf(Value value, LayoutAttr layout) const {
    Operation *made = value.getDefiningOp();
    SmallVector<Attribute> layouts;
    for (Value result : made->getResults())
      layouts.push_back(result == value ? layout : dist::getLayout(result));
    setLayouts(made, b.getArrayAttr(layouts));
  }

  dist::ReshardOp reshard(Value value, LayoutAttr to) {
    auto built = dist::ReshardOp::create(b, value.getLoc(), value.getType(), value);
    setLayout(built, to);
    return built;
  }

  /// What a micro-batch computes with that lies over the axes, as a replica has it: the same for all micro-batches, or a
  /// micro-batch's own part of a sum.
  void takeWithin(OpOperand &operand) {
    Value value = operand.get(), root = rootOfReshards(value);
    bool isOwnSum = isOfMicroBatch(root) && isSum(root) && value != root;
    LayoutAttr wanted = within(dist::getLayout(value));
    if (!isOwnSum && dist::getLayout(value) == wanted)
      return;
    Value &taken = takenWithin[value];
    if (!taken) {
      b.setInsertionPointAfterValue(value);
      taken = reshard(isOwnSum ? root : lastWithin(value), wanted);
    }
    operand.set(taken);
  }

  /// Of a chain of reshards, the last value that lies within replicas; its end where there is none.
  Value lastWithin(Value end) const {
    Value value = end;
    while (dist::getLayout(value) != within(dist::getLayout(value))) {
      auto made = value.getDefiningOp<dist::ReshardOp>();
      if (!made)
        return end;
      value = made.getInput();
    }
    return value;
  }

  /// What is done after all micro-batches finds sums as they lay. (A reshard of one takes it as it comes.)
  void changeResult(Value result) {
    LayoutAttr layout = dist::getLayout(result), own = within(layout);
    if (layout == own)
      return;
    setLayoutOf(result, own);
    if (!isSum(result))
      return;
    b.setInsertionPointAfterValue(result);
    dist::ReshardOp whole = reshard(result, layout);
    result.replaceUsesWithIf(whole, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      return !isa<dist::ReshardOp>(user) && !classes.isPerMicroBatch(plan.bareOf(user));
    });
    if (whole.use_empty())
      whole.erase();
  }

  PlannedStep &plan;
  const StepClasses &classes;
  ArrayAttr axes;
  mutable OpBuilder b;
  DenseMap<Value, Value> takenWithin;
};
} // namespace

void passes::takeTurns(PlannedStep &plan, const StepClasses &classes, ArrayAttr axes) {
  TurnTaking(plan, classes, axes).run();
}
