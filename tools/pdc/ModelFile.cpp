//===- ModelFile.cpp - models as files ------------------------------------===//

#include "tools/pdc/ModelFile.h"
#include "compiler/pipeline/ParseModule.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/pdc/Commands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

using namespace pdc;
using namespace pdc::tool;

bool tool::hasAnEnd(const std::string &path) {
  llvm::sys::fs::file_status status;
  if (path == "-" || llvm::sys::fs::status(path, status))
    return true; // opening it says what is wrong
  if (status.type() != llvm::sys::fs::file_type::character_file &&
      status.type() != llvm::sys::fs::file_type::block_file)
    return true;
  fail(path + ": this is a device; give a file, or - for standard input");
  return false;
}

mlir::OwningOpRef<mlir::ModuleOp> tool::parseModel(const std::string &path, llvm::SourceMgr &sources,
                                                   mlir::MLIRContext &context) {
  if (!hasAnEnd(path))
    return nullptr;
  std::string error;
  auto file = mlir::openInputFile(path, &error);
  if (!file) {
    fail(error);
    return nullptr;
  }
  if (file->getBuffer().starts_with("ML\xefR")) {
    fail(path + ": this is MLIR bytecode; give the model as text");
    return nullptr;
  }
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  return pipeline::parseModule(sources, &context);
}
