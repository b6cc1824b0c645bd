//===- ApplyLayouts.cpp - a plan's decisions, written into the IR ---------===//

#include "compiler/plan/search/ApplyLayouts.h"
#include "compiler/plan/search/KernelTraffic.h"
#include "mlir/IR/Builders.h"
#include "passes/layouts/OpLayouts.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;

namespace {

class Application {
public:
  Application(nn::StepOp step, const StepDecisions &decisions, dist::MeshOp mesh)
      : step(step), decisions(decisions), mesh(mesh), b(step.getContext()) {}

  void run() {
    Block &body = step.getBody().front();
    for (auto [op, decided] : llvm::zip(body, decisions.ops))
      if (decided.split)
        ofOps[&op] = &decided;
    for (auto pair : llvm::make_early_inc_range(body.getOps<dist::AlikeOp>()))
      pair.erase();
    step->setAttr(dist::kMeshAttr, FlatSymbolRefAttr::get(mesh));
    // All at once: each change of a step's attributes writes a new list of them.
    SmallVector<DictionaryAttr> attributes;
    for (auto [argument, layout] : llvm::zip(body.getArguments(), decisions.arguments)) {
      layouts[argument] = layout;
      attributes.push_back(withLayout(step.getArgAttrDict(argument.getArgNumber()), layout));
    }
    step.setAllArgAttrs(attributes);
    Operation *loss = findLossOp(step);
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (const StepDecisions::OfOp *decided = ofOps.lookup(&op))
        splitOp(&op, *decided);
      else if (op.hasTrait<OpTrait::IsTerminator>())
        writeResults(&op);
      // What was resharded for the forward pass is not kept for the backward pass.
      if (&op == loss)
        shared.clear();
    }
  }

private:
  void setLayouts(Operation *op, ArrayRef<LayoutAttr> results) {
    if (llvm::all_of(results, [](LayoutAttr layout) { return layout.isReplicated(); }))
      return;
    op->setAttr(dist::kLayoutsAttr, b.getArrayAttr(SmallVector<Attribute>(results.begin(), results.end())));
  }

  Value reshard(Value value, LayoutAttr to) {
    auto op = dist::ReshardOp::create(b, value.getLoc(), value.getType(), value);
    // Also where it is replicated: a reshard states what it makes.
    op->setAttr(dist::kLayoutsAttr, b.getArrayAttr({to}));
    return op;
  }

  /// `value` in the layout `want`, for an op at the builder's place.
  Value inLayout(Value value, LayoutAttr want) {
    LayoutAttr have = layouts.lookup(value);
    if (have == want)
      return value;
    Value &known = shared[{value, want}];
    if (!known) {
      known = reshard(value, want);
      layouts[known] = want;
    }
    return known;
  }

  /// In which layout all uses of the value find it. Null: in several, or at the end of the step.
  LayoutAttr wantedByAll(Value value) const {
    LayoutAttr wanted;
    for (OpOperand &use : value.getUses()) {
      const StepDecisions::OfOp *user = ofOps.lookup(use.getOwner());
      LayoutAttr layout = user ? user->split->layouts.operands[use.getOperandNumber()] : LayoutAttr();
      if (!layout || (wanted && layout != wanted))
        return {};
      wanted = layout;
    }
    return wanted;
  }

  /// A free op (an iota, a constant, a broadcast) costs a search the same in every layout. In that of its uses, where what
  /// it reads lies right as it is, ranks do not make the whole of which they then take a part. Null: it stays as decided.
  LayoutAttr layoutOfItsUses(Operation *op, const passes::OpLayouts &own) const {
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    if (!shardable || !isFreeOp(op) || op->getNumResults() != 1)
      return {};
    LayoutAttr wanted = wantedByAll(op->getResult(0));
    if (!wanted || wanted.isPartial() || wanted == own.results.front())
      return {};
    ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
    passes::OpLayouts known{SmallVector<LayoutAttr>(op->getNumOperands()), {wanted}};
    FailureOr<passes::OpLayouts> complete = passes::completeLayouts(shardable, known);
    if (failed(complete) || complete->results.front() != wanted || complete->operands != own.operands)
      return {};
    return wanted;
  }

  void splitOp(Operation *op, const StepDecisions::OfOp &decided) {
    const passes::OpLayouts &own = decided.split->layouts;
    b.setInsertionPoint(op);
    for (auto [operand, found, want] : llvm::zip(op->getOpOperands(), decided.operands, own.operands))
      operand.set(relaid.contains(operand.get()) ? operand.get() : inLayout(inLayout(operand.get(), found), want));
    if (LayoutAttr layout = layoutOfItsUses(op, own)) {
      setLayouts(op, {layout});
      layouts[op->getResult(0)] = layout;
      relaid.insert(op->getResult(0));
      return;
    }
    setLayouts(op, own.results);
    b.setInsertionPointAfter(op);
    for (auto [result, gives, wants] : llvm::zip(op->getResults(), own.results, decided.results)) {
      layouts[result] = wants;
      if (gives == wants)
        continue;
      Value changed = reshard(result, wants);
      result.replaceAllUsesExcept(changed, changed.getDefiningOp());
      layouts[changed] = wants;
    }
  }

  void writeResults(Operation *terminator) {
    b.setInsertionPoint(terminator);
    Block &body = step.getBody().front();
    SmallVector<DictionaryAttr> attributes;
    for (auto [operand, argument] : llvm::zip(terminator->getOpOperands(), argumentsOfResults(step))) {
      // What persists lies as the argument whose next value it is; the rest as it is.
      LayoutAttr want = layouts.lookup(argument < 0 ? operand.get() : body.getArgument(argument));
      operand.set(inLayout(operand.get(), want));
      attributes.push_back(withLayout(step.getResultAttrDict(operand.getOperandNumber()), want));
    }
    step.setAllResultAttrs(attributes);
  }

  DictionaryAttr withLayout(DictionaryAttr attributes, LayoutAttr layout) {
    NamedAttrList list(attributes);
    list.set(dist::kLayoutAttr, layout);
    return list.getDictionary(b.getContext());
  }

  nn::StepOp step;
  const StepDecisions &decisions;
  dist::MeshOp mesh;
  OpBuilder b;
  DenseMap<Value, LayoutAttr> layouts; // of values as later ops see them
  DenseSet<Value> relaid;              // results of free ops, in the layout of their uses
  DenseMap<Operation *, const StepDecisions::OfOp *> ofOps;
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> shared;
};

} // namespace

StepDecisions plan::decisionsOf(nn::StepOp step, const SearchSpace &space, ArrayRef<uint32_t> choices) {
  StepDecisions decisions;
  for (BlockArgument argument : step.getBody().getArguments())
    decisions.arguments.push_back(space.layoutOf(argument, choices));
  for (Operation &op : step.getBody().front()) {
    StepDecisions::OfOp &decided = decisions.ops.emplace_back();
    if (!space.hasSplit(&op))
      continue;
    decided.split = &space.splitOf(&op, choices);
    for (OpOperand &operand : op.getOpOperands())
      decided.operands.push_back(space.layoutOfUse(operand, choices));
    for (Value result : op.getResults())
      decided.results.push_back(space.layoutOf(result, choices));
  }
  return decisions;
}

void plan::applyLayouts(nn::StepOp step, const StepDecisions &decisions, dist::MeshOp mesh) {
  Application(step, decisions, mesh).run();
}
