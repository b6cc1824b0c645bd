//===- Reshard.h - from one layout to another by collectives ----*- C++ -*-===//
//
// A value that lies in one layout is wanted in another. Each step of the way is one collective over some mesh
// axes, or a local slice:
//
//   all_reduce      sum over X          ->  whole over X
//   reduce_scatter  sum over X          ->  dimension d split over ... X
//   all_gather      d split over ... X  ->  d split over ...
//   all_to_all      c split over ... X  ->  c split over ..., d split over ... X
//   slice           d split over ...    ->  d split over ... X, nothing moved
//
// Which of these a layout allows is a matter of the parts' borders. A dimension of n elements that is split over
// [P, Q] lies in P * Q parts, the larger ones first (dist::shardStart). Gathering Q gives the split over P only
// where the Q parts of each p are together the p-th of P parts: 4 elements over [2, 2], but not 6 over [2, 2]
// (borders 0 2 4 5 6 and 0 3 6). Where they are not, the dimension is gathered wholly and sliced again.
//
// The cheapest way is found by Dijkstra's algorithm over layouts. The cost of a step is the number of elements
// that a rank receives, as bandwidth-optimal algorithms do it (Chan et al., Collective communication: theory,
// practice, and experience, 2007). With n elements on the rank that has the most, in a group of g: all_gather
// (g-1)/g of the n it has afterwards, reduce_scatter (g-1)/g of the n before, all_to_all (g-1)/g of the larger of
// both, all_reduce twice (g-1)/g, slice none. Of equal costs the way with fewer steps is taken, then the one that
// comes first in a fixed order.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_LAYOUTS_RESHARD_H
#define PDC_PASSES_LAYOUTS_RESHARD_H

#include "dialects/dist/IR/Dist.h"
#include <string>

namespace pdc::passes {

enum class ReshardKind { AllReduce, ReduceScatter, AllGather, AllToAll, Slice };

struct ReshardStep {
  ReshardKind kind;
  mlir::ArrayAttr axes; // over which ranks work together; of more than one rank each
  int64_t dim = -1;     // ReduceScatter, AllToAll, Slice: is split over `axes`; AllGather: is joined; else -1
  int64_t otherDim = -1; // AllToAll: is joined
  bool isMax = false;    // AllReduce, ReduceScatter
  int64_t elements = 0;  // that a rank receives, see above
  dist::LayoutAttr result;
};

/// The steps from `from` to `to` of a value with the global shape `shape`; none where both mean the same. `to` may
/// be a partial result over axes over which `from` is one. Failure, with the reason in `error` if that is not null,
/// where a layout does not fit the shape or the mesh, or where `to` is a partial result and `from` is not.
mlir::FailureOr<llvm::SmallVector<ReshardStep>> planReshard(dist::LayoutAttr from, dist::LayoutAttr to,
                                                            llvm::ArrayRef<int64_t> shape, dist::MeshOp mesh,
                                                            std::string *error = nullptr);

/// Why a value of this shape cannot have the layout on the mesh; empty where it can.
std::string checkFits(dist::LayoutAttr layout, llvm::ArrayRef<int64_t> shape, dist::MeshOp mesh);
/// Emits an error at `op` where `value`, of its own, cannot have the layout that it states on the mesh.
mlir::LogicalResult checkFits(mlir::Operation *op, mlir::Value value, dist::MeshOp mesh);

/// The part of a value that a rank holds.
struct LocalPart {
  llvm::SmallVector<int64_t> start, shape;
  bool operator==(const LocalPart &) const = default;
};
LocalPart getLocalPart(dist::LayoutAttr layout, llvm::ArrayRef<int64_t> shape, dist::MeshOp mesh,
                       int64_t rank);

/// The sizes of the parts into which `step` cuts or of which it joins dimension `dim` in the group of `rank`, in the
/// order of the group's members. `split` is the layout in which the dimension is split over the step's axes.
llvm::SmallVector<int64_t> getPartSizes(mlir::ArrayAttr axes, int64_t dim, dist::LayoutAttr split,
                                        llvm::ArrayRef<int64_t> shape, dist::MeshOp mesh, int64_t rank);

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_RESHARD_H
