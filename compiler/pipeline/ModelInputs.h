//===- ModelInputs.h - what data an executable takes ------------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_MODELINPUTS_H
#define PDC_COMPILER_PIPELINE_MODELINPUTS_H

#include "runtime/program/program_generated.h"
#include <map>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// By the kind of a step: its inputs, in the order of the model. Of steps that are not partitioned yet: later none has to have
/// all of them.
using ModelInputs = std::map<std::string, std::vector<program::InputT>>;
ModelInputs collectInputs(mlir::ModuleOp module);

/// Into all programs.
void setInputs(program::ExecutableT &executable, const ModelInputs &inputs);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_MODELINPUTS_H
