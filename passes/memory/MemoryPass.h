//===- MemoryPass.h - where buffers lie in the arenas -----------*- C++ -*-===//
#ifndef PDC_PASSES_MEMORY_MEMORYPASS_H
#define PDC_PASSES_MEMORY_MEMORYPASS_H

#include "mlir/Pass/Pass.h"
#include "runtime/program/program_generated.h"
#include <functional>

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/memory/MemoryPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/memory/MemoryPass.h.inc"

/// Bytes of workspace that a library call needs on the machine that will run it, or -1 where the call is not
/// possible there; the reason is written to the string.
using WorkspaceQuery = std::function<int64_t(const program::InstructionT &call, std::string &reason)>;

/// The pass with a query; without one, as pdc-opt runs it, no call has workspace.
std::unique_ptr<mlir::Pass> createMemoryPass(WorkspaceQuery workspace);

} // namespace pdc::passes

#endif // PDC_PASSES_MEMORY_MEMORYPASS_H
