//===- ObjectCode.h - kernels to optimized machine code ---------*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_OBJECTCODE_H
#define PDC_COMPILER_CODEGEN_OBJECTCODE_H

#include "mlir/Support/LLVM.h"
#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm
namespace mlir {
class ModuleOp;
}

namespace pdc::codegen {
struct CodegenOptions;

/// The machine that `options` ask for; null, with the reason in `error`, where LLVM does not know it.
std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const CodegenOptions &options, std::string &error);

/// Lowers scf, arith and math ops of `module` to the llvm dialect, in place.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module);

/// The LLVM module of `module` (llvm dialect), optimized for `target`. Null after an error.
std::unique_ptr<llvm::Module> makeOptimizedModule(mlir::ModuleOp module, llvm::LLVMContext &context,
                                                  llvm::TargetMachine &target, int optimizationLevel);

/// The relocatable object file of `module`.
mlir::FailureOr<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &target);

/// Links the object file with the ELF linker into a shared object. On failure `error` says what the linker
/// said.
mlir::FailureOr<std::string> linkSharedObject(mlir::StringRef object, std::string &error);

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_OBJECTCODE_H
