//===- PlanFile.h - plans that a person keeps or edits ----------*- C++ -*-===//
//
// A plan file is the text of the `plan` phase: a mesh, and steps with a layout for every value (docs/planning.md).
// pdc writes it with --plan-out; --plan-in compiles it, edited or not, instead of searching.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PIPELINE_PLANFILE_H
#define PDC_COMPILER_PIPELINE_PLANFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace pdc::pipeline {

/// On a planned module, what else its executable says of it: "bf16", "adamw" (of training).
inline constexpr llvm::StringLiteral kPrecisionAttr = "nn.precision", kOptimizerAttr = "nn.optimizer";

/// Reads the text of a plan; null, with an error that names `fileName`, where it is not one.
mlir::OwningOpRef<mlir::ModuleOp> parsePlan(llvm::StringRef text, llvm::StringRef fileName,
                                            mlir::MLIRContext *context);

/// Ranks of the plan's mesh on all stages, or of the meshes of its stages. Emits an error where there is neither one mesh nor
/// one for each stage.
mlir::FailureOr<int64_t> ranksOfPlan(mlir::ModuleOp plan);

/// Replaces the steps of `module` by those of `plan`, which must be the same without meshes, layouts and reshards; where stages
/// are not alike, on each of their meshes.
/// Emits an error that names the first difference where it is a plan for another model, batch, precision,
/// optimizer or mode.
mlir::LogicalResult takePlan(mlir::ModuleOp module, mlir::ModuleOp plan);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_PLANFILE_H
