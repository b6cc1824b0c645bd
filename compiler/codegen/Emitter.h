//===- Emitter.h - a schedule as loops --------------------------*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_EMITTER_H
#define PDC_COMPILER_CODEGEN_EMITTER_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class ModuleOp;
}
namespace pdc::nn {
class FusionOp;
}

namespace pdc::codegen {
struct Schedule;

/// Appends the function `symbol` of `fusion` to `module`, as scf loops over arith, math and llvm ops.
void emitKernel(mlir::ModuleOp module, nn::FusionOp fusion, const Schedule &schedule, mlir::StringRef symbol);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_EMITTER_H
