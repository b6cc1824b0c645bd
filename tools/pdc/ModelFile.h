//===- ModelFile.h - models as files ----------------------------*- C++ -*-===//
#ifndef PDC_TOOLS_PDC_MODELFILE_H
#define PDC_TOOLS_PDC_MODELFILE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <string>

namespace llvm {
class SourceMgr;
} // namespace llvm

namespace pdc::tool {

/// False, after an error was told, where `path` is a device: /dev/zero has no end. Pipes can be read.
bool hasAnEnd(const std::string &path);

/// Parses a model with diagnostics that show the line of the file; text only: the bytecode reader is not made for files
/// from outside. Null after an error was told.
mlir::OwningOpRef<mlir::ModuleOp> parseModel(const std::string &path, llvm::SourceMgr &sources,
                                             mlir::MLIRContext &context);

} // namespace pdc::tool

#endif // PDC_TOOLS_PDC_MODELFILE_H
