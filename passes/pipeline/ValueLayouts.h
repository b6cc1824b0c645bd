//===- ValueLayouts.h - layouts of values, stated and changed ---*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_VALUELAYOUTS_H
#define PDC_PASSES_PIPELINE_VALUELAYOUTS_H

#include "dialects/dist/IR/Dist.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace pdc::passes {

/// Has an op of one result state its layout. That all is replicated is stated of reshards alone.
void setLayout(mlir::Operation *op, dist::LayoutAttr layout);
/// Has an op state the layouts of all of its results.
void setLayouts(mlir::Operation *op, mlir::ArrayAttr layouts);

/// Whether the layout is that of a partial result over the axis.
bool isPartialOver(dist::LayoutAttr layout, mlir::Attribute axis);
/// The layout, but no partial result over axes that are complete.
dist::LayoutAttr withoutPartialOver(dist::LayoutAttr layout, llvm::function_ref<bool(mlir::Attribute)> isComplete);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_VALUELAYOUTS_H
