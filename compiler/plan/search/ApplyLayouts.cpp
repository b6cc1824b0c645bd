//===- ApplyLayouts.cpp - a plan's decisions, written into the IR ---------===//

#include "compiler/plan/search/ApplyLayouts.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;

namespace {

class Application {
public:
  Application(nn::StepOp step, const SearchSpace &space, ArrayRef<uint32_t> choices, dist::MeshOp mesh)
      : step(step), space(space), choices(choices), mesh(mesh), b(step.getContext()) {}

  void run() {
    Block &body = step.getBody().front();
    for (auto pair : llvm::make_early_inc_range(body.getOps<dist::AlikeOp>()))
      pair.erase();
    step->setAttr(dist::kMeshAttr, FlatSymbolRefAttr::get(mesh));
    // All at once: each change of a step's attributes writes a new list of them.
    SmallVector<DictionaryAttr> attributes;
    for (BlockArgument argument : body.getArguments()) {
      LayoutAttr layout = layouts[argument] = space.layoutOf(argument, choices);
      attributes.push_back(withLayout(step.getArgAttrDict(argument.getArgNumber()), layout));
    }
    step.setAllArgAttrs(attributes);
    // Before reshards take the place of values.
    for (Operation &op : body)
      if (space.hasSplit(&op))
        for (OpOperand &operand : op.getOpOperands())
          layoutsOfUses[&op].push_back(space.layoutOfUse(operand, choices));
    Operation *loss = findLossOp(step);
    for (Operation &op : llvm::make_early_inc_range(body)) {
      if (space.hasSplit(&op))
        splitOp(&op);
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

  void splitOp(Operation *op) {
    const passes::OpSplit &split = space.splitOf(op, choices);
    SmallVector<LayoutAttr> chosen;
    for (Value result : op->getResults())
      chosen.push_back(space.layoutOf(result, choices));
    b.setInsertionPoint(op);
    for (auto [operand, found, want] :
         llvm::zip(op->getOpOperands(), layoutsOfUses[op], split.layouts.operands))
      operand.set(inLayout(inLayout(operand.get(), found), want));
    setLayouts(op, split.layouts.results);
    b.setInsertionPointAfter(op);
    for (auto [result, gives, wants] : llvm::zip(op->getResults(), split.layouts.results, chosen)) {
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
  const SearchSpace &space;
  ArrayRef<uint32_t> choices;
  dist::MeshOp mesh;
  OpBuilder b;
  DenseMap<Value, LayoutAttr> layouts; // of values as later ops see them
  DenseMap<Operation *, SmallVector<LayoutAttr>> layoutsOfUses; // in which ops find their operands
  llvm::DenseMap<std::pair<Value, LayoutAttr>, Value> shared;
};

} // namespace

void plan::applyLayouts(nn::StepOp step, const SearchSpace &space, ArrayRef<uint32_t> choices,
                        dist::MeshOp mesh) {
  Application(step, space, choices, mesh).run();
}
