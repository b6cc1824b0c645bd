//===- SearchCheck.h - whether what is asked for is searched ----*- C++ -*-===//
#ifndef PDC_TOOLS_PDC_SEARCHCHECK_H
#define PDC_TOOLS_PDC_SEARCHCHECK_H

#include "compiler/pipeline/Options.h"

namespace pdc::tool {

/// An error where the command line asks for a search of pipelines or micro-batches beside something that leaves none; empty
/// where it does not. `parallel` is what --parallel says.
std::string misplacedSearch(const pipeline::CompileOptions &options, llvm::StringRef parallel);

} // namespace pdc::tool

#endif // PDC_TOOLS_PDC_SEARCHCHECK_H
