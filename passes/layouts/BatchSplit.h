//===- BatchSplit.h - what of a step has the batch --------------*- C++ -*-===//
#ifndef PDC_PASSES_LAYOUTS_BATCHSPLIT_H
#define PDC_PASSES_LAYOUTS_BATCHSPLIT_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {

/// Over what the batch is split: one mesh axis. The words are for errors.
struct BatchAxis {
  llvm::StringRef name;
  int64_t parts = 1;
  llvm::StringRef part = "rank", inParts = "ranks";
  bool evenIfOne = false; // one part is a split, too: what has the batch is wanted, not what becomes smaller
};

/// The layouts of a step's values when its batch, dimension 0 of its inputs, is split over one axis and nothing else is:
/// carried from op to op by their sharding rules. Partial results are reduced at once: `layoutOf` a value is what its
/// users see, `partialOf` what its op leaves.
class BatchSplit {
public:
  BatchSplit(nn::StepOp step, const BatchAxis &axis) : step(step), axis(axis) {}

  /// Errors: an input without the batch, or with another one; a batch with fewer samples than parts; an op that cannot be
  /// split; a parameter or state, or a result that is no output, that would be split.
  mlir::LogicalResult run();

  dist::LayoutAttr layoutOf(mlir::Value value) const;
  /// Null: the value is no partial result.
  dist::LayoutAttr partialOf(mlir::Value value) const { return partial.lookup(value); }
  bool isSplit(mlir::Value value) const {
    auto known = layouts.find(value);
    return known != layouts.end() && !known->second.isReplicated();
  }
  /// Whether the op works on parts of the batch.
  bool splits(mlir::Operation *op) const;
  /// The sizes of a value in the part that has fewest samples.
  llvm::SmallVector<int64_t> leastShapeOf(mlir::Value value) const;
  /// Whether each part of a value can have the layout on a mesh: every rank gets something of it.
  bool partsFit(mlir::Value value, dist::LayoutAttr layout, dist::MeshOp mesh) const;

private:
  mlir::LogicalResult splitInputs();
  mlir::LogicalResult propagate();
  mlir::LogicalResult propagateThrough(mlir::Operation *op, bool &changed);
  mlir::LogicalResult checkArguments();
  mlir::LogicalResult checkResults();
  bool update(mlir::Value value, dist::LayoutAttr layout);
  llvm::SmallVector<int64_t> shapeOfPart(mlir::Value value, int64_t part) const;

  nn::StepOp step;
  BatchAxis axis;
  llvm::DenseMap<mlir::Value, dist::LayoutAttr> layouts;
  llvm::DenseMap<mlir::Value, dist::LayoutAttr> partial;
};

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_BATCHSPLIT_H
