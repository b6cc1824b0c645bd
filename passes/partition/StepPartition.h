//===- StepPartition.h - one step on local shapes ---------------*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_STEPPARTITION_H
#define PDC_PASSES_PARTITION_STEPPARTITION_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "passes/layouts/Reshard.h"
#include "passes/layouts/Transfer.h"
#include <map>

namespace pdc::passes {

/// How each dist.reshard of a step is carried out.
using ReshardPlans = llvm::DenseMap<mlir::Operation *, llvm::SmallVector<ReshardStep>>;

/// Plans all of them; an error names the reshard that is none.
mlir::FailureOr<ReshardPlans> planReshards(nn::StepOp step, dist::MeshOp mesh);

/// The pieces that each rank sends of a dist.stage_send, or gets of a dist.stage_receive.
using TransferPlans = llvm::DenseMap<mlir::Operation *, std::map<int64_t, llvm::SmallVector<TransferPiece>>>;
TransferPlans planTransfers(nn::StepOp step);

/// Checks that every op's values are laid out as its sharding rule wants them, and that results agree with
/// the layouts that the step states for them.
mlir::LogicalResult checkLayouts(nn::StepOp step, dist::MeshOp mesh);

/// The mesh that the step names; an error where it names none.
mlir::FailureOr<dist::MeshOp> findMesh(nn::StepOp step);

/// The mesh of the ranks that run the step: that of its replica (dist.replica), or the whole mesh. An error where the replica is
/// no part of it.
mlir::FailureOr<dist::MeshOp> findReplica(nn::StepOp step);

/// Whether two layouts are one: axes of partial results mean the same in any order.
bool meanTheSame(dist::LayoutAttr a, dist::LayoutAttr b);

/// The ranks of `replica` (of the mesh, or all of it) in sets of equal local shapes, on the way of reshards too; the sets by
/// their first rank.
llvm::SmallVector<llvm::SmallVector<int64_t>> findVariants(nn::StepOp step, dist::MeshOp mesh, dist::MeshOp replica,
                                                           const ReshardPlans &reshards,
                                                           const TransferPlans &transfers);

/// Builds the step of `ranks` (one of the sets above) at the builder's place, under the name `name`.
mlir::FailureOr<nn::StepOp> buildLocalStep(mlir::OpBuilder &builder, nn::StepOp step, dist::MeshOp mesh,
                                           llvm::ArrayRef<int64_t> ranks, const ReshardPlans &reshards,
                                           const TransferPlans &transfers, llvm::StringRef name);

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_STEPPARTITION_H
