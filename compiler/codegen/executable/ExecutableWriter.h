//===- ExecutableWriter.h - launcher + payload = executable -----*- C++ -*-===//
//
// An executable of pdc is a copy of the launcher (runtime/launcher, an ordinary ELF file) with one more section,
// ".pdc", that holds the payload: programs, kernels, report. `readelf -S` shows it; loaders ignore it.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_CODEGEN_EXECUTABLE_EXECUTABLEWRITER_H
#define PDC_COMPILER_CODEGEN_EXECUTABLE_EXECUTABLEWRITER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace pdc::codegen {

/// Writes the executable under a temporary name beside `path`, makes it executable and renames it: `path` is never
/// half written.
llvm::Error writeExecutable(llvm::StringRef launcher, llvm::StringRef payload, llvm::StringRef path);

/// The payload of an executable that writeExecutable() wrote. Not checked: see runtime/program/container.h.
llvm::Expected<std::string> readPayloadOfExecutable(llvm::StringRef path);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_EXECUTABLE_EXECUTABLEWRITER_H
