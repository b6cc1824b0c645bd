//===- OutputFile.cpp - what commands write -------------------------------===//

#include "tools/pdc/OutputFile.h"
#include "tools/pdc/Commands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/ToolOutputFile.h"

int pdc::tool::writeOutput(const std::string &path, llvm::StringRef text) {
  std::string name = path == "-" ? "standard output" : path;
  std::error_code code;
  llvm::ToolOutputFile file(path, code, llvm::sys::fs::OF_None);
  if (code)
    return fail(name + ": " + code.message());
  file.os() << text;
  file.os().flush();
  // Left in the stream, the error would end the process with LLVM's own words.
  if ((code = file.os().error())) {
    file.os().clear_error();
    return fail(name + ": " + code.message());
  }
  file.keep();
  return 0;
}
