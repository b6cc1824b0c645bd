//===- KernelOperations.h - what generated kernels compute ------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_KERNELOPERATIONS_H
#define PDC_COMPILER_PIPELINE_KERNELOPERATIONS_H

#include "compiler/codegen/program/RankPrograms.h"
#include "compiler/cost/InstructionCost.h"
#include <map>
#include <string>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace pdc::pipeline {

/// For every kernel of an rt module, how many scalar operations of vector code one call takes. `entries` says which
/// symbol each rt.define became.
cost::KernelOperations countKernelOperations(mlir::ModuleOp module,
                                             const std::map<std::string, codegen::KernelEntry> &entries);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_KERNELOPERATIONS_H
