//===- Layouts.h - the layouts of a plan, for its report --------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_LAYOUTS_H
#define PDC_COMPILER_PIPELINE_LAYOUTS_H

#include "compiler/plan/Report.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include <map>
#include <string>
#include <vector>

namespace pdc::pipeline {

/// Names of dimensions, by the name of the parameter, state or input.
using DimensionNames = std::map<std::string, std::vector<std::string>>;

/// From a specialized model.
DimensionNames collectDimensionNames(mlir::ModuleOp module);

/// One row per input, parameter and state of the first step of a planned module; where stages are planned apart, of the first
/// step on each of their meshes.
/// Or, `ofOptimizer`, one per optimizer state, "optimizer.m.fc1.weight".
std::vector<plan::LayoutRow> collectLayouts(mlir::ModuleOp module, const DimensionNames &names, bool ofOptimizer = false);

/// Names and sizes of the axes of a planned module's mesh.
std::pair<std::vector<std::string>, std::vector<int64_t>> collectMesh(mlir::ModuleOp module);

/// The stages' meshes, where they are planned apart.
std::vector<plan::StageMesh> collectStageMeshes(mlir::ModuleOp module);

/// The first step on each mesh of a planned module, all of one kind, and the stages that have that mesh (none: all).
std::vector<std::pair<nn::StepOp, std::vector<int64_t>>> firstSteps(mlir::ModuleOp module);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_LAYOUTS_H
