//===- IdLimits.h - which integers the inputs of a model can be -*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_IDLIMITS_H
#define PDC_COMPILER_PIPELINE_IDLIMITS_H

#include "dialects/nn/Interfaces/NNInterfaces.h"
#include "runtime/program/program_generated.h"
#include <map>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// By the name of the input, from a specialized model: what the ops that use it can take (`IdOpInterface`). A label outside
/// of the classes would give a loss and gradients that are finite and mean nothing, so data is checked before.
std::map<std::string, nn::IdRange> collectIdRanges(mlir::ModuleOp module);

/// Into the inputs and the input buffers of all programs.
void setIdRanges(program::ExecutableT &executable, const std::map<std::string, nn::IdRange> &ranges);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_IDLIMITS_H
