//===- Dist.h - the dist dialect: how a step is split over ranks -*- C++ -*-===//
#ifndef PDC_DIALECTS_DIST_IR_DIST_H
#define PDC_DIALECTS_DIST_IR_DIST_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/dist/IR/DistDialect.h.inc"
#include "dialects/dist/IR/DistEnums.h.inc"

namespace pdc::dist {
/// Elements of part `part` of `parts` when `size` elements are split in whole blocks: the first
/// (size / block) mod parts parts have one block more. `block` divides `size`.
int64_t shardSize(int64_t size, int64_t block, int64_t parts, int64_t part);
/// The element at which that part begins.
int64_t shardStart(int64_t size, int64_t block, int64_t parts, int64_t part);
/// `stated`, or the sizes of `parts` parts in blocks of one element.
llvm::SmallVector<int64_t> partSizes(std::optional<llvm::ArrayRef<int64_t>> stated, int64_t size,
                                     int64_t parts);
} // namespace pdc::dist

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.h.inc"

namespace pdc::dist {

/// Names of the discardable attributes that carry a plan; see the dialect's description.
inline constexpr llvm::StringLiteral kMeshAttr = "dist.mesh";
inline constexpr llvm::StringLiteral kLayoutAttr = "dist.layout";
inline constexpr llvm::StringLiteral kLayoutsAttr = "dist.layouts";
inline constexpr llvm::StringLiteral kRanksAttr = "dist.ranks";
/// On collectives after `partition`: a number, the same in all variants of a step.
inline constexpr llvm::StringLiteral kOrderAttr = "dist.order";
inline constexpr llvm::StringLiteral kApartAttr = "dist.apart";
inline constexpr llvm::StringLiteral kGlobalAttr = "dist.global";
/// On a step after `partition`: the whole step on one device, to compare with.
inline constexpr llvm::StringLiteral kReferenceAttr = "dist.reference";
/// On an input argument that has the samples of one micro-batch: where in the batch they begin. And on its step: how many
/// samples the batch has.
inline constexpr llvm::StringLiteral kBatchPartAttr = "dist.batch_part";
inline constexpr llvm::StringLiteral kBatchAttr = "dist.batch";
/// On a step of one stage of a pipeline: the stage.
inline constexpr llvm::StringLiteral kStageAttr = "dist.stage";
/// On a step of one replica of a stage: the mesh of its ranks, which are some of the step's mesh.
inline constexpr llvm::StringLiteral kReplicaAttr = "dist.replica";
/// On a planned module: for each stage of the pipeline, in order, the mesh whose shape its ranks form. Of each kind of step
/// there is one step for each of these meshes, of the same ops in the same order. Without it, all stages have the one mesh.
inline constexpr llvm::StringLiteral kStageMeshesAttr = "dist.stage_meshes";

/// The layout of an op result or a step argument as the plan's attributes state it; replicated where there is
/// none.
LayoutAttr getLayout(mlir::Value value);

/// Of all meshes of the operation (a module) together.
int64_t countRanks(mlir::Operation *module);

} // namespace pdc::dist

#endif // PDC_DIALECTS_DIST_IR_DIST_H
