//===- OutputFile.h - what commands write -----------------------*- C++ -*-===//
#ifndef PDC_TOOLS_PDC_OUTPUTFILE_H
#define PDC_TOOLS_PDC_OUTPUTFILE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace pdc::tool {

/// Writes a file, or standard output where `path` is "-". Returns the exit status: 1 after an error was told, in which case
/// no half of a file is left.
int writeOutput(const std::string &path, llvm::StringRef text);

} // namespace pdc::tool

#endif // PDC_TOOLS_PDC_OUTPUTFILE_H
