//===- ParseModule.h - the text of models and plans -------------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_PARSEMODULE_H
#define PDC_COMPILER_PIPELINE_PARSEMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace pdc::pipeline {

/// Parses what `sources` hold; null, after an error, where that is no module. What is wrong with the module as a whole is told
/// at its first op: the parser gives the module itself no line.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::SourceMgr &sources, mlir::MLIRContext *context);

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_PARSEMODULE_H
