//===- Kernels.h - definitions of generated kernels -------------*- C++ -*-===//
#ifndef PDC_PASSES_LOWER_KERNELS_H
#define PDC_PASSES_LOWER_KERNELS_H

#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include <map>

namespace pdc::passes {

/// The rt.define ops of a module: one per fusion body and memory layout.
class Kernels {
public:
  explicit Kernels(mlir::ModuleOp module) : module(module) {}

  /// The symbol of the definition; makes it where there is none. `memory`: of operands, then of the results
  /// that are not computed in an operand's place. `donate`: the pairs of the fusion that take effect.
  mlir::FlatSymbolRefAttr define(nn::FusionOp fusion, llvm::ArrayRef<mlir::MemRefType> memory,
                                 llvm::ArrayRef<mlir::Attribute> donate);

private:
  mlir::ModuleOp module;
  std::map<std::string, mlir::FlatSymbolRefAttr> byContents;
};

} // namespace pdc::passes

#endif // PDC_PASSES_LOWER_KERNELS_H
