//===- LocalOp.h - one op on local shapes -----------------------*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_LOCALOP_H
#define PDC_PASSES_PARTITION_LOCALOP_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/Interfaces/NNInterfaces.h"
#include "passes/layouts/OpLayouts.h"

namespace pdc::passes {

/// The axes over which loops of windows of the op are split.
llvm::SmallVector<mlir::ArrayAttr> axesOfWindows(nn::ShardableOpInterface op, const OpLayouts &layouts);

/// Builds an op of a step for one part: tells it where its part begins (dist.shard_start), and gets it what it
/// needs of its neighbours' parts (dist.halo_exchange), as its sharding rule asks.
class LocalOp {
public:
  /// `rank` stands for all ranks of its variant.
  LocalOp(mlir::OpBuilder &b, nn::ShardableOpInterface op, dist::MeshOp mesh, int64_t rank);
  /// By other layouts than those that stand on the op.
  LocalOp(mlir::OpBuilder &b, nn::ShardableOpInterface op, dist::MeshOp mesh, int64_t rank,
          const OpLayouts &layouts);

  /// The local results; none with an error on the op where it cannot be built.
  llvm::SmallVector<mlir::Value> build(llvm::SmallVector<mlir::Value> operands, mlir::TypeRange types);

private:
  mlir::Value shardStart(unsigned factor);
  void exchange(unsigned factor, llvm::SmallVectorImpl<mlir::Value> &operands);

  mlir::OpBuilder &b;
  nn::ShardableOpInterface op;
  dist::MeshOp mesh;
  int64_t rank;
  nn::ShardingRule rule;
  llvm::SmallVector<FactorSplit> splits; // empty where nothing of the op is split
  llvm::SmallVector<nn::HaloPart> halos;
};

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_LOCALOP_H
