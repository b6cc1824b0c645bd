//===- KeptValues.h - what a forward pass keeps for its backward -*- C++ -*-===//
#ifndef PDC_PASSES_RECOMPUTE_KEPTVALUES_H
#define PDC_PASSES_RECOMPUTE_KEPTVALUES_H

#include "dialects/dist/IR/PipelineAttributes.h"
#include "passes/recompute/ForwardPasses.h"
#include "passes/recompute/Segments.h"

namespace pdc::passes {

/// Chooses which values of each forward pass are kept; the backward pass computes the others again. Sizes are those of the
/// mesh's first rank.
///
/// - Full: those that are alive at the borders of segments (Segments.h). Where the backward follows at once, also all that it
///   needs of the last segment.
/// - Selective: the fewest bytes of which the backward pass can get what it needs without another product with parameters and
///   without communication: a minimal cut of the forward pass (as the min-cut partitioner of PyTorch's AOTAutograd),
///   nearest to what is needed, so that little is done again. What Korthikanti et al. (2022) keep of a transformer, except
///   where a sum is kept in place of a product that went into it.
///
/// Kept besides: what other tasks use anyway, and the smallest values, which together are a 64th of what the backward pass
/// needs: to get a mean again, all that it is the mean of would have to be computed first.
class KeptValues {
public:
  KeptValues(nn::StepOp step, const ForwardPasses &passes, dist::MeshOp mesh, dist::Recompute recompute);

  /// Of a value that can be made again.
  bool isKept(mlir::Value value) const;

private:
  void keepSmallAndPinned(const ForwardPass &pass);
  void keepBorders(const ForwardPass &pass);
  void keepCut(const ForwardPass &pass);
  ChainProblem chainOf(const ForwardPass &pass, llvm::ArrayRef<mlir::Value> values) const;
  std::vector<int64_t> leftBytes(const ForwardPass &pass) const;
  llvm::SmallVector<mlir::Value> storagesOf(const ForwardPass &pass) const;
  int64_t lastUse(mlir::Value storage) const;
  bool isNeeded(mlir::Value value) const;
  bool isHeavy(mlir::Operation *op) const;
  int64_t bytesOf(mlir::Value value) const;
  /// Calls `visit` for the value and all views of it, with what uses them.
  void forEachUse(mlir::Value storage, llvm::function_ref<void(mlir::Value, mlir::Operation *)> visit) const;

  mutable nn::StepOp step;
  const ForwardPasses &passes;
  mutable dist::MeshOp mesh;
  llvm::DenseSet<mlir::Value> kept; // storages
  std::vector<std::pair<ChainProblem, SegmentPlan>> solved; // micro-batches are alike
};

} // namespace pdc::passes

#endif // PDC_PASSES_RECOMPUTE_KEPTVALUES_H
