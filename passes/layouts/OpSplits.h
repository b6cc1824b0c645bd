//===- OpSplits.h - every way to split an op over a mesh --------*- C++ -*-===//
//
// What planners choose from: an op's splits are assignments of mesh axes to the factors of its sharding rule, a
// value's layouts assignments of mesh axes to its dimensions.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_LAYOUTS_OPSPLITS_H
#define PDC_PASSES_LAYOUTS_OPSPLITS_H

#include "passes/layouts/SplitByParts.h"

namespace pdc::passes {

/// What each rank gets of its neighbours before it can run an op on windows.
struct HaloBytes {
  mlir::ArrayAttr axes; // over which the windows are split
  int64_t bytes;        // of the rank that gets most
};

/// One way to split an op.
struct OpSplit {
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> factorAxes; // per factor: indices of mesh axes, ascending
  OpLayouts layouts; // that its operands must have, that its results get
  std::vector<PartsReduction>
      reductions;               // between the op's parts, where it is split by them (SplitByParts.h)
  std::vector<HaloBytes> halos; // one for each loop of windows that is split
  bool isThroughParts = false;
};

/// The layouts that go with axes for each factor (major to minor, indices into `mesh`), or nothing where a
/// factor cannot be split, is smaller than its number of parts, or parts would not be contiguous.
std::optional<OpLayouts> layoutsOfSplit(mlir::MLIRContext *context, const nn::ShardingRule &rule,
                                        llvm::ArrayRef<llvm::SmallVector<int64_t, 2>> factorAxes,
                                        dist::MeshOp mesh);

/// Every legal split, the unsplit op first. Axes of size one split nothing. An op without a sharding rule has
/// only the one. Where several axes split one factor, the earlier axis of the mesh is the major one. Of windows in
/// two dimensions that move as much either way, the earlier dimension is split first, by an earlier axis.
llvm::SmallVector<OpSplit> enumerateSplits(mlir::Operation *op, dist::MeshOp mesh);

/// For an op that is additive in all its operands together: its splits again, on operands that all are partial sums
/// over axes that split nothing else. The result is a partial sum then, too, and may wait to be added up.
void addSplitsOfSums(mlir::Operation *op, dist::MeshOp mesh, llvm::SmallVectorImpl<OpSplit> &splits);

/// Whether a split of the op can leave its result a partial sum.
bool canLeaveSum(mlir::Operation *op);

/// Every layout without partial sums of a value, the replicated one first, in blocks of one element.
llvm::SmallVector<dist::LayoutAttr> enumerateLayouts(mlir::RankedTensorType type, dist::MeshOp mesh);

/// Whether both layouts give every rank the same elements: blocks do not matter where parts are even.
bool holdSameElements(dist::LayoutAttr a, dist::LayoutAttr b, llvm::ArrayRef<int64_t> shape,
                      dist::MeshOp mesh);

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_OPSPLITS_H
