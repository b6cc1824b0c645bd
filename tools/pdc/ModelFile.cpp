//===- ModelFile.cpp - models as files ------------------------------------===//

#include "tools/pdc/ModelFile.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/pdc/Commands.h"
#include "llvm/Support/SourceMgr.h"

using namespace pdc;
using namespace pdc::tool;

mlir::OwningOpRef<mlir::ModuleOp> tool::parseModel(const std::string &path, llvm::SourceMgr &sources,
                                                   mlir::MLIRContext &context) {
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
  return mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
}
