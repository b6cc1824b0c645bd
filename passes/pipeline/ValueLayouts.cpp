//===- ValueLayouts.cpp - layouts of values, stated and changed -----------===//

#include "passes/pipeline/ValueLayouts.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

void passes::setLayout(Operation *op, LayoutAttr layout) { setLayouts(op, ArrayAttr::get(op->getContext(), {layout})); }

void passes::setLayouts(Operation *op, ArrayAttr layouts) {
  auto isReplicated = [](Attribute layout) { return cast<LayoutAttr>(layout).isReplicated(); };
  if (isa<dist::ReshardOp>(op) || !llvm::all_of(layouts, isReplicated))
    op->setAttr(dist::kLayoutsAttr, layouts);
  else
    op->removeAttr(dist::kLayoutsAttr);
}

bool passes::isPartialOver(LayoutAttr layout, Attribute axis) {
  return llvm::is_contained(layout.getSum(), axis) || llvm::is_contained(layout.getMax(), axis);
}

LayoutAttr passes::withoutPartialOver(LayoutAttr layout, llvm::function_ref<bool(Attribute)> isComplete) {
  auto rest = [&](ArrayAttr axes) {
    SmallVector<Attribute> left;
    llvm::copy_if(axes, std::back_inserter(left), [&](Attribute axis) { return !isComplete(axis); });
    return ArrayAttr::get(layout.getContext(), left);
  };
  return LayoutAttr::get(layout.getContext(), layout.getDims(), layout.getBlocks(), rest(layout.getSum()),
                         rest(layout.getMax()));
}
