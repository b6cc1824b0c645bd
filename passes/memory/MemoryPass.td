//===- MemoryPass.td - where buffers lie in the arenas ------*- tablegen -*-===//
#ifndef PDC_PASSES_MEMORY_MEMORYPASS_TD
#define PDC_PASSES_MEMORY_MEMORYPASS_TD

include "mlir/Pass/PassBase.td"

def MemoryPass : Pass<"memory", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer its place in an arena";
  let description = [{
    Parameters, optimizer state and state come first and lie at the same offsets in all programs that share arenas
    (train, gradient, evaluate, infer); all other buffers lie above them and share memory where their lives do not meet.
    What a collective works on is in use from its start to its end. Library calls get the workspace that they ask for.

    Sets `offset`, `first_use` and `last_use` of buffers, `private_bytes` and `shared_bytes` of programs, exact to the
    byte, and `rt.live_bytes` of programs: the most bytes that are alive at one time in [private, shared], which no plan
    can go below.
  }];
  let dependentDialects = ["::pdc::rt::RtDialect"];
}

#endif // PDC_PASSES_MEMORY_MEMORYPASS_TD
