//===- WantedLayouts.cpp - what ops want of the values around them --------===//

#include "compiler/plan/search/WantedLayouts.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;

void WantedLayouts::add(Operation *op, ArrayRef<passes::OpSplit> splits) {
  bool isElementwise = isa<nn::ElementwiseOpInterface>(op);
  auto insert = [&](Value value, LayoutAttr layout) {
    size_t index = classes.classOf(value);
    byAll[index].insert(layout);
    if (!isElementwise)
      byWork[index].insert(layout);
  };
  for (const passes::OpSplit &split : splits) {
    for (auto [operand, layout] : llvm::zip(op->getOperands(), split.layouts.operands))
      insert(operand, layout);
    for (auto [result, layout] : llvm::zip(op->getResults(), split.layouts.results))
      insert(result, passes::withoutPartial(layout));
  }
  if (isElementwise)
    joinAlong(op);
}

size_t WantedLayouts::leaderOf(size_t index) const {
  return neighbors.contains(index) ? neighbors.getLeaderValue(index) : index;
}

void WantedLayouts::joinAlong(Operation *op) {
  size_t result = classes.classOf(op->getResult(0));
  for (Value operand : op->getOperands())
    if (size_t index = classes.classOf(operand); classes.shapeOf(index) == classes.shapeOf(result))
      neighbors.unionSets(index, result);
}

void WantedLayouts::unite() {
  for (size_t index = 0; index < classes.size(); ++index)
    for (LayoutAttr layout : byWork[index])
      components[leaderOf(index)].insert(passes::withoutPartial(layout));
  for (size_t index = 0; index < classes.size(); ++index)
    if (llvm::any_of(classes.members(index), llvm::IsaPred<BlockArgument>))
      components[leaderOf(index)].clear();
}

const LayoutSet *WantedLayouts::ofWorkAround(size_t index) {
  if (components.empty())
    unite();
  auto component = components.find(leaderOf(index));
  bool isOpen = component == components.end() || component->second.empty();
  return isOpen ? nullptr : &component->second;
}
