//===- ParseModule.cpp - the text of models and plans ---------------------===//

#include "compiler/pipeline/ParseModule.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace pdc;

/// What stands at a place of a text, as far as it can be the name of a value.
static StringRef nameAt(StringRef text, LocationAttr place) {
  auto at = dyn_cast<FileLineColLoc>(place);
  if (!at || at.getLine() == 0 || at.getColumn() == 0)
    return "";
  for (unsigned line = 1; line < at.getLine(); ++line)
    text = text.split('\n').second;
  return text.drop_front(std::min<size_t>(at.getColumn() - 1, text.size()))
      .take_while([](char c) { return llvm::isAlnum(c) || StringRef("%_$.-#").contains(c); });
}

namespace {
/// Makes one error of those that the parser gives for each value that is used and not declared.
class UndeclaredValues {
public:
  explicit UndeclaredValues(MLIRContext *context)
      : handler(std::in_place, context, [this](Diagnostic &diagnostic) {
          if (!StringRef(diagnostic.str()).starts_with(message))
            return failure();
          places.push_back(diagnostic.getLocation());
          return success();
        }) {}

  void report(StringRef text) {
    handler.reset();
    if (places.empty())
      return;
    constexpr size_t named = 4;
    InFlightDiagnostic error = emitError(places.front(), message) << " " << nameAt(text, places.front());
    ArrayRef<Location> others = ArrayRef(places).drop_front();
    if (others.empty())
      return;
    error << ", and of " << others.size() << (others.size() == 1 ? " other: " : " others: ");
    llvm::interleaveComma(others.take_front(named), error, [&](Location place) { error << nameAt(text, place); });
    if (others.size() > named)
      error << ", ...";
  }

private:
  static constexpr llvm::StringLiteral message = "use of undeclared SSA value name";
  SmallVector<Location> places;
  std::optional<ScopedDiagnosticHandler> handler;
};
} // namespace

OwningOpRef<ModuleOp> pipeline::parseModule(llvm::SourceMgr &sources, MLIRContext *context) {
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(sources.getMainFileID());
  UndeclaredValues undeclared(context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, ParserConfig(context));
  undeclared.report(buffer->getBuffer());
  if (!module)
    return nullptr;
  StringRef file = buffer->getBufferIdentifier();
  Block *body = module->getBody();
  if (auto place = module->getLoc()->findInstanceOf<FileLineColLoc>(); place && place.getLine() == 0)
    (*module)->setLoc(body->empty() ? Location(FileLineColLoc::get(context, file, 1, 1)) : body->front().getLoc());
  return module;
}
