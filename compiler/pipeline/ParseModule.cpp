//===- ParseModule.cpp - the text of models and plans ---------------------===//

#include "compiler/pipeline/ParseModule.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace pdc;

OwningOpRef<ModuleOp> pipeline::parseModule(llvm::SourceMgr &sources, MLIRContext *context) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  if (!module)
    return nullptr;
  StringRef file = sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier();
  Block *body = module->getBody();
  if (auto place = module->getLoc()->findInstanceOf<FileLineColLoc>(); place && place.getLine() == 0)
    (*module)->setLoc(body->empty() ? Location(FileLineColLoc::get(context, file, 1, 1)) : body->front().getLoc());
  return module;
}
