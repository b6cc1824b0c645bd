//===- ClusterAttr.h - the cluster that a plan is for, in the IR *- C++ -*-===//
//
// A plan carries its cluster as an attribute of its module, with the keys of a cluster file:
//
//     module attributes {dist.cluster = {name = "lassen", nodes = [{count = 16, device = "v100-sxm2-16gb", ...}], ...}}
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_MACHINE_IR_CLUSTERATTR_H
#define PDC_COMPILER_MACHINE_IR_CLUSTERATTR_H

#include "compiler/machine/Cluster.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace pdc::machine {

/// Of the module.
inline constexpr llvm::StringLiteral kClusterAttr = "dist.cluster";

mlir::DictionaryAttr toAttribute(mlir::MLIRContext *context, const Cluster &cluster);

/// Errors start with "dist.cluster: " and name the key, as those of a file do.
llvm::Expected<Cluster> fromAttribute(mlir::DictionaryAttr attribute);

void setCluster(mlir::ModuleOp module, const Cluster &cluster);

/// Empty where the module says nothing of a cluster.
llvm::Expected<std::optional<Cluster>> getCluster(mlir::ModuleOp module);

} // namespace pdc::machine

#endif // PDC_COMPILER_MACHINE_IR_CLUSTERATTR_H
