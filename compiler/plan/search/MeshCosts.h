//===- MeshCosts.h - times on one mesh of a cluster -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_MESHCOSTS_H
#define PDC_COMPILER_PLAN_SEARCH_MESHCOSTS_H

#include "compiler/cost/CostModel.h"
#include "compiler/cost/GroupShape.h"
#include "compiler/plan/search/KernelTraffic.h"
#include "passes/layouts/OpSplits.h"
#include "passes/layouts/Reshard.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace pdc::plan {

/// Where the ranks of a mesh lie among those of a job.
struct MeshPlace {
  int64_t copies = 1; // meshes like this one, one behind the other, that communicate at once: replicas, other stages
  std::vector<int64_t> devices = {0}; // ranks whose devices compute: one of each kind
};

/// What ops and reshards take, in seconds, where ranks form `mesh` on devices of `cluster` that follow each other. The
/// slowest rank counts.
class MeshCosts {
public:
  MeshCosts(const machine::Cluster &cluster, const cost::CostModel &model, dist::MeshOp mesh, MeshPlace place = {});

  dist::MeshOp getMesh() const { return mesh; }
  int64_t getRanks() const { return ranks; }

  /// What a rank's step works on, of which caches hold a part (OpWork::workingSetBytes); 0 until it is known.
  void setWorkingSetBytes(double bytes) { workingSetBytes = bytes; }
  /// The local part of an op under each split, as a part of its kernel.
  llvm::SmallVector<double> opSeconds(mlir::Operation *op, const OpTraffic &traffic,
                                      llvm::ArrayRef<passes::OpSplit> splits);
  /// In which the runtime fills a rank's part of an input.
  double inputSeconds(mlir::RankedTensorType type, dist::LayoutAttr layout);
  /// Whether a split may be taken: under a cost model that does not count work, those of matrix products and
  /// convolutions must share it among as many ranks as any of `splits` does.
  llvm::SmallVector<bool> mayTake(mlir::Operation *op, llvm::ArrayRef<passes::OpSplit> splits);
  /// What the split itself communicates: numbers that its parts reduce, elements of neighbours.
  double splitCommunicationSeconds(const passes::OpSplit &split);
  /// From one layout to another; `forbidden` where there is no way.
  double reshardSeconds(mlir::RankedTensorType type, dist::LayoutAttr from, dist::LayoutAttr to);
  /// Likewise of a gradient, whose all_reduce is its share of that of a bucket.
  double gradientReshardSeconds(mlir::RankedTensorType type, dist::LayoutAttr from, dist::LayoutAttr to);
  /// Bytes that gradients' all_reduces move together; 0: each is one of its own.
  void setBucketBytes(double bytes) { bucketBytes = bytes; }
  /// What ranks along axes send each other; bytes as cost::LinkCosts::seconds counts them.
  struct Message {
    cost::Collective collective;
    int64_t bytes;
    mlir::ArrayAttr axes;
  };
  /// Of one step of a reshard; none where it only cuts.
  std::optional<Message> messageOf(mlir::RankedTensorType type, dist::LayoutAttr before,
                                   const passes::ReshardStep &step) const;
  double messageSeconds(const Message &message);
  /// Bytes of the largest part.
  int64_t localBytes(mlir::RankedTensorType type, dist::LayoutAttr layout) const;

private:
  int64_t localElements(llvm::ArrayRef<int64_t> shape, dist::LayoutAttr layout) const;
  double workSeconds(const cost::OpWork &work) const;
  const cost::GroupShape &shapeOf(mlir::ArrayAttr axes);
  double operationSeconds(mlir::Operation *op, const OpTraffic &traffic, const passes::OpSplit &split,
                          double operations);
  double computeReshard(mlir::RankedTensorType type, dist::LayoutAttr from, dist::LayoutAttr to,
                        llvm::function_ref<double(const Message &)> secondsOf);

  /// The steps of a reshard, or nothing where there is no way.
  using Way = std::optional<llvm::SmallVector<passes::ReshardStep>>;
  const Way &wayOf(llvm::ArrayRef<int64_t> shape, dist::LayoutAttr from, dist::LayoutAttr to);

  const machine::Cluster &cluster;
  const cost::CostModel &model;
  dist::MeshOp mesh;
  MeshPlace place;
  int64_t ranks;
  double workingSetBytes = 0, bucketBytes = 0;
  llvm::DenseMap<mlir::ArrayAttr, cost::GroupShape> shapes;
  llvm::DenseMap<std::tuple<mlir::Type, mlir::Attribute, mlir::Attribute>, double> reshards;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, std::map<llvm::SmallVector<int64_t, 4>, Way>>
      ways; // by the layouts, and by the sizes of dimensions that do not divide evenly
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_MESHCOSTS_H
