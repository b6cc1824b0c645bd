//===- RankPrograms.h - rt programs as tables of the program format -*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_PROGRAM_RANKPROGRAMS_H
#define PDC_COMPILER_CODEGEN_PROGRAM_RANKPROGRAMS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LogicalResult.h"
#include "runtime/program/program_generated.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <map>
#include <string>

namespace pdc::codegen {

/// A generated kernel in the kernel library.
struct KernelEntry {
  std::string symbol;
  int64_t parallelExtent = 1; // rows that the kernel may be split into
};

struct RankProgramsOptions {
  /// By the name of the rt.define. A define without an entry is an error.
  std::map<std::string, KernelEntry> kernels;
};

/// Writes the rt.program ops of a module to `executable`: programs, rank_programs, ranks, and the
/// signatures of the kernels that are called; all else of it is the caller's. A program is written once per distinct contents: ranks that differ in nothing but their
/// number share it. Every buffer must have its offset (the pass `memory`). Emits an error on the op that
/// cannot be written.
mlir::LogicalResult writeRankPrograms(mlir::ModuleOp module, const RankProgramsOptions &options,
                                      program::ExecutableT &executable);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_PROGRAM_RANKPROGRAMS_H
