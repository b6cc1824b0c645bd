//===- SplitByParts.cpp - splits of an op that go through its parts -------===//

#include "passes/layouts/SplitByParts.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

namespace {

LayoutAttr replicated(Value value) {
  return LayoutAttr::getReplicated(value.getContext(), cast<RankedTensorType>(value.getType()).getRank());
}

/// Whether `finer` is `layout` with more dimensions split, and nothing of either is partial.
bool isFinerThan(LayoutAttr finer, LayoutAttr layout) {
  for (int64_t d = 0; d < layout.getRank(); ++d)
    if (layout.isSplit(d) &&
        (layout.getAxes(d) != finer.getAxes(d) || layout.getBlocks()[d] != finer.getBlocks()[d]))
      return false;
  return !layout.isPartial() && !finer.isPartial();
}

class PartsSplit {
public:
  PartsSplit(nn::ShardableOpInterface op, dist::MeshOp mesh) : op(op), mesh(mesh), b(op) {}

  FailureOr<SplitParts> run(const OpLayouts &wanted) {
    FailureOr<SmallVector<LayoutAttr>> operands = partsOperandLayouts(op, wanted);
    if (failed(operands))
      return failure();
    for (auto [operand, layout] : llvm::zip(op->getOperands(), *operands)) {
      auto [entry, inserted] = layouts.try_emplace(operand, layout);
      if (!inserted && entry->second != layout)
        return op.emitOpError() << "takes one value under two layouts, " << entry->second << " and " << layout
                                << "; reshard one of them before";
    }
    auto whole = cast<nn::DecomposableOpInterface>(op.getOperation());
    Operation *before = op->getPrevNode();
    FailureOr<SmallVector<Value>> replacements = whole.decompose(b);
    if (failed(replacements))
      return failure();
    values = *replacements;
    Operation *first = before ? before->getNextNode() : &op->getBlock()->front();
    SmallVector<Operation *> order;
    for (Operation *part = first; part != op.getOperation(); part = part->getNextNode())
      order.push_back(part);
    made.insert(order.begin(), order.end());
    for (Operation *part : order)
      if (failed(layOut(part)))
        return failure();
    for (Value value : values)
      done.results.push_back(layoutOf(value));
    op->replaceAllUsesWith(values);
    op->erase();
    return done;
  }

private:
  LayoutAttr layoutOf(Value value) {
    auto known = layouts.find(value);
    return known == layouts.end() ? replicated(value) : known->second;
  }

  LogicalResult layOut(Operation *part) {
    OpLayouts known;
    for (OpOperand &operand : part->getOpOperands()) {
      operand.set(wholeOf(operand.get()));
      known.operands.push_back(layoutOf(operand.get()));
    }
    known.results.resize(part->getNumResults());
    if (llvm::all_of(known.operands, [](LayoutAttr layout) { return layout.isReplicated(); }))
      return success();
    auto shardable = dyn_cast<nn::ShardableOpInterface>(part);
    if (!shardable)
      return part->emitOpError("has split operands and no sharding rule");
    if (needsParts(shardable, known))
      return splitFurther(shardable, known);
    FailureOr<OpLayouts> all = completeLayouts(shardable, known);
    if (failed(all))
      return failure();
    for (auto [operand, layout] : llvm::zip(part->getOpOperands(), all->operands))
      relayOut(operand, layout);
    for (auto [result, layout] : llvm::zip(part->getResults(), all->results))
      layouts[result] = layout;
    part->setAttr(dist::kLayoutsAttr,
                  ArrayAttr::get(part->getContext(), llvm::to_vector_of<Attribute>(all->results)));
    return success();
  }

  /// A part that is split by its own parts.
  LogicalResult splitFurther(nn::ShardableOpInterface part, const OpLayouts &known) {
    FailureOr<SmallVector<LayoutAttr>> operands = partsOperandLayouts(part, known);
    if (failed(operands))
      return failure();
    for (auto [operand, layout] : llvm::zip(part->getOpOperands(), *operands))
      relayOut(operand, layout);
    // Its results live on in what replaces them, which have layouts of their own.
    Operation *next = part->getNextNode();
    Operation *before = part->getPrevNode();
    OpLayouts exact;
    exact.operands = *operands;
    exact.results.resize(part->getNumResults());
    PartsSplit split(part, mesh);
    SmallVector<Value> results(part->getResults());
    FailureOr<SplitParts> inner = split.run(exact);
    if (failed(inner))
      return failure();
    for (auto [result, replacement] : llvm::zip(results, split.values))
      std::replace(values.begin(), values.end(), result, replacement);
    llvm::append_range(done.reductions, inner->reductions);
    for (Operation *made = before ? before->getNextNode() : &next->getBlock()->front(); made != next;
         made = made->getNextNode())
      for (Value result : made->getResults())
        layouts[result] = dist::getLayout(result);
    return success();
  }

  /// The value, reduced where it is partial.
  Value wholeOf(Value value) {
    LayoutAttr layout = layoutOf(value);
    if (!layout.isPartial())
      return value;
    Value &whole = wholes[value];
    if (whole)
      return whole;
    for (auto [axes, reduction] :
         {std::pair(layout.getSum(), dist::Reduction::Sum), std::pair(layout.getMax(), dist::Reduction::Max)})
      if (!axes.empty())
        done.reductions.push_back({reduction, axes, bytesOfPart(value, layout)});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(value);
    whole = reshard(value, withoutPartial(layout));
    return whole;
  }

  Value reshard(Value value, LayoutAttr layout) {
    auto made = dist::ReshardOp::create(b, op.getLoc(), value.getType(), value);
    made->setAttr(dist::kLayoutsAttr, ArrayAttr::get(b.getContext(), {layout}));
    layouts[made] = layout;
    return made;
  }

  int64_t bytesOfPart(Value value, LayoutAttr layout) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8;
    for (auto [d, size] : llvm::enumerate(type.getShape())) {
      ArrayAttr axes = layout.getAxes(d);
      bytes *= axes.empty() ? size : dist::shardSize(size, layout.getBlocks()[d], mesh.getParts(axes), 0);
    }
    return bytes;
  }

  /// Gives the operand the layout that its user needs: computed in it, where it is computed here and split less so far
  /// (a mask is made of an index, which begins where the part does), otherwise cut.
  void relayOut(OpOperand &operand, LayoutAttr layout) {
    Value value = operand.get();
    if (layoutOf(value) == layout)
      return;
    OpBuilder::InsertionGuard guard(b);
    if (Operation *source = sourceFor(value, layout)) {
      b.setInsertionPointAfter(source);
      Operation *own = value.hasOneUse() ? source : b.clone(*source);
      made.insert(own);
      own->setAttr(dist::kLayoutsAttr, ArrayAttr::get(b.getContext(), {layout}));
      layouts[own->getResult(0)] = layout;
      operand.set(own->getResult(0));
      OpLayouts all = *layoutsForResult(cast<nn::ShardableOpInterface>(own), layout);
      for (auto [needed, wanted] : llvm::zip(own->getOpOperands(), all.operands))
        relayOut(needed, wanted);
      return;
    }
    b.setInsertionPoint(operand.getOwner());
    operand.set(reshard(value, layout));
  }

  /// The op that computes the value, where it can do so in the layout.
  Operation *sourceFor(Value value, LayoutAttr layout) {
    Operation *source = value.getDefiningOp();
    auto shardable = dyn_cast_or_null<nn::ShardableOpInterface>(source);
    if (!shardable || !made.contains(source) || source->getNumResults() != 1 ||
        !isFinerThan(layout, layoutOf(value)))
      return nullptr;
    return succeeded(layoutsForResult(shardable, layout)) ? source : nullptr;
  }

  /// The layouts of the op's values when its result has this one; failure, silently, where it cannot have it.
  FailureOr<OpLayouts> layoutsForResult(nn::ShardableOpInterface of, LayoutAttr layout) {
    ScopedDiagnosticHandler quiet(of->getContext(), [](Diagnostic &) { return success(); });
    OpLayouts known;
    known.operands.resize(of->getNumOperands());
    known.results = {layout};
    FailureOr<OpLayouts> all = completeLayouts(of, known);
    if (failed(all) || all->results.front() != layout)
      return failure();
    return all;
  }

  nn::ShardableOpInterface op;
  dist::MeshOp mesh;
  OpBuilder b;
  SplitParts done;
  SmallVector<Value> values;           // what replaces the op's results
  DenseSet<Operation *> made;          // the parts
  DenseMap<Value, LayoutAttr> layouts; // replicated where not in here
  DenseMap<Value, Value> wholes;       // of partial values
};

} // namespace

bool passes::needsParts(nn::ShardableOpInterface op, const OpLayouts &known) {
  if (!isa<nn::DecomposableOpInterface>(op.getOperation()))
    return false;
  ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
  FailureOr<SmallVector<FactorSplit>> splits = splitsOfFactors(op, known, SplitMode::ThroughParts);
  if (failed(splits))
    return false;
  return llvm::any_of(llvm::zip(op.getShardingRule().factors, *splits), [](auto pair) {
    auto &[factor, split] = pair;
    return split && factor.kind == nn::FactorKind::Decomposed;
  });
}

FailureOr<SmallVector<LayoutAttr>> passes::partsOperandLayouts(nn::ShardableOpInterface op,
                                                               const OpLayouts &wanted) {
  FailureOr<OpLayouts> all = completeLayouts(op, wanted, SplitMode::ThroughParts);
  if (failed(all))
    return failure();
  return all->operands;
}

FailureOr<SplitParts> passes::splitByParts(nn::ShardableOpInterface op, const OpLayouts &wanted,
                                           dist::MeshOp mesh) {
  if (!isa<nn::DecomposableOpInterface>(op.getOperation()))
    return op.emitOpError("cannot be split by its parts: it has no decomposition");
  return PartsSplit(op, mesh).run(wanted);
}

FailureOr<SplitParts> passes::describeSplitByParts(nn::ShardableOpInterface op, const OpLayouts &wanted,
                                                   dist::MeshOp mesh) {
  Block scratch;
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, scratch.addArgument(operand.getType(), operand.getLoc()));
  OpBuilder b(op->getContext());
  b.setInsertionPointToStart(&scratch);
  Operation *copy = b.clone(*op.getOperation(), mapping);
  return splitByParts(cast<nn::ShardableOpInterface>(copy), wanted, mesh);
}
