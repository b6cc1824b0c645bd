//===- Layouts.h - the layouts of a plan, for its report --------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_LAYOUTS_H
#define PDC_COMPILER_PIPELINE_LAYOUTS_H

#include "compiler/plan/Report.h"
#include <map>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// Names of dimensions, by the name of the parameter, state or input.
using DimensionNames = std::map<std::string, std::vector<std::string>>;

/// From a specialized model.
DimensionNames collectDimensionNames(mlir::ModuleOp module);

/// One row per input, parameter and state of the first step of a planned module.
std::vector<plan::LayoutRow> collectLayouts(mlir::ModuleOp module, const DimensionNames &names);

/// Names and sizes of the axes of a planned module's mesh.
std::pair<std::vector<std::string>, std::vector<int64_t>> collectMesh(mlir::ModuleOp module);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_LAYOUTS_H
