//===- VerifyParallelPasses.td - what partition and lower leave -*- tablegen -*-===//
#ifndef PDC_PASSES_VERIFY_PARALLEL_VERIFYPARALLELPASSES_TD
#define PDC_PASSES_VERIFY_PARALLEL_VERIFYPARALLELPASSES_TD

include "mlir/Pass/PassBase.td"

def VerifyPartitionedPass : Pass<"verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "After partition: every step has ranks, and no op has a layout or a reshard left";
}

def VerifyLoweredPass : Pass<"verify-lowered", "::mlir::ModuleOp"> {
  let summary = "After lower and memory: rank programs and kernel definitions only";
  let description = [{
    With `placed`, every buffer has its offset and every program the sizes of its arenas.
  }];
  let options = [Option<"placed", "placed", "bool", /*default=*/"false", "memory has run">];
}

#endif // PDC_PASSES_VERIFY_PARALLEL_VERIFYPARALLELPASSES_TD
