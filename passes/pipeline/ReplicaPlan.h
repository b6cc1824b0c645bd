//===- ReplicaPlan.h - a plan whose replicas take micro-batches in turn -*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_REPLICAPLAN_H
#define PDC_PASSES_PIPELINE_REPLICAPLAN_H

#include "passes/pipeline/PlannedStep.h"
#include "passes/pipeline/StepClasses.h"

namespace pdc::passes {

/// The axes over which a plan splits the samples of the batch, major to minor: the stage's replicas lie along them. None where
/// it splits no input's samples. Error: inputs that are split differently; replicas whose ranks do not follow each other.
mlir::FailureOr<mlir::ArrayAttr> findReplicaAxes(nn::StepOp planned, dist::MeshOp mesh);

/// Changes a plan of which each replica takes a part of every micro-batch into one whose replicas take micro-batches in turn
/// (Narayanan et al. 2019, "1F1B-RR"): what is computed of a micro-batch lies within a replica, as if the axes had one part.
/// What is the same for all micro-batches lies as it did (ZeRO's parts too), and is gathered where they need it; a sum over
/// micro-batches is a partial sum over the axes once a replica has added its own.
void takeTurns(PlannedStep &plan, const StepClasses &classes, mlir::ArrayAttr axes);

/// A layout where the axes have one part.
dist::LayoutAttr withinReplica(dist::LayoutAttr layout, mlir::ArrayAttr axes);

/// The ranks of each replica: meshes of the same axes, of which those along which replicas lie have one part.
llvm::SmallVector<dist::MeshOp> makeReplicaMeshes(dist::MeshOp mesh, mlir::ArrayAttr axes);

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_REPLICAPLAN_H
