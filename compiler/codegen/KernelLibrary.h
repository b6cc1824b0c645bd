//===- KernelLibrary.h - fused groups to a shared object --------*- C++ -*-===//
//
// Turns `nn.fusion` ops into one ELF shared object of vectorized machine code. The function of a kernel is
//
//   void kernel(void *const *arguments, int64_t begin, int64_t end);
//
// as in runtime/device/device.h: it does units [begin, end) of its parallel extent, and what a unit computes
// does not depend on how the extent is split. bf16 and f16 are computed in f32 and rounded to nearest even
// when stored.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_CODEGEN_KERNELLIBRARY_H
#define PDC_COMPILER_CODEGEN_KERNELLIBRARY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/LLVM.h"
#include <cstdint>
#include <memory>
#include <string>

namespace pdc::nn {
class FusionOp;
}

namespace pdc::codegen {

struct CodegenOptions {
  /// A processor that LLVM knows, or "host". "x86-64-v3" runs on any processor with AVX2, "x86-64-v4" with
  /// AVX-512.
  std::string cpu = "host";
  /// In LLVM's form, "+avx512f,-avx2". Empty: those of `cpu`.
  std::string features;
  /// 0 to 3.
  int optimizationLevel = 3;
};

struct Kernel {
  std::string symbol;
  int64_t parallelExtent = 1;
  double flops = 0; // floating-point operations of the whole extent
  double bytes = 0; // read from operands and written to results, each element once
};

/// The dialects that code generation makes ops of. Load them before a pass manager runs with several threads.
void registerCodegenDialects(mlir::DialectRegistry &registry);

class KernelLibraryBuilder {
public:
  KernelLibraryBuilder(mlir::MLIRContext *context, CodegenOptions options);
  ~KernelLibraryBuilder();

  /// Adds the kernel of `fusion`. `arguments` are the types of the memory that it is called with: one memref
  /// per operand, then one per result that is not donated; static shapes (those of the tensors) and strides.
  /// A donated result is computed in its operand's argument. Fusions with the same body and the same layouts
  /// share one kernel. Emits an error on `fusion` where its body cannot be one loop nest, or where a donated
  /// operand would be overwritten before its last use.
  mlir::FailureOr<Kernel> add(nn::FusionOp fusion, mlir::ArrayRef<mlir::MemRefType> arguments);

  /// Compiles what was added and returns the bytes of the shared object: position independent, needing
  /// nothing but the C library and libm. The same kernels, options and processor give the same bytes. Leaves
  /// the builder empty.
  mlir::FailureOr<std::string> build();

  /// The optimized LLVM IR of what was added, as text: to look at and for tests. Leaves the builder empty.
  mlir::FailureOr<std::string> buildIR();

  /// The processor and features that code is generated for, in LLVM's form.
  std::string getCpu() const;
  std::string getFeatures() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_KERNELLIBRARY_H
