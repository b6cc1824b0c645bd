//===- Communication.h - what a plan sends, for its report ------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_COMMUNICATION_H
#define PDC_COMPILER_PIPELINE_COMMUNICATION_H

#include "compiler/pipeline/Options.h"
#include "compiler/plan/CommunicationRow.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// What ranks send each other in the first step of a planned module, and why; times by --cost-model. Nothing where
/// there is no mesh.
std::vector<plan::CommunicationRow> collectCommunication(mlir::ModuleOp module,
                                                         const CompileOptions &options);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_COMMUNICATION_H
