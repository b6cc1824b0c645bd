//===- KernelOperations.cpp - what generated kernels compute --------------===//

#include "compiler/pipeline/KernelOperations.h"
#include "compiler/codegen/ScalarOperations.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;

cost::KernelOperations
pipeline::countKernelOperations(ModuleOp module, const std::map<std::string, codegen::KernelEntry> &entries) {
  cost::KernelOperations operations;
  for (auto define : module.getOps<rt::DefineOp>()) {
    auto entry = entries.find(define.getSymName().str());
    if (entry == entries.end())
      continue;
    double count = 0;
    define->walk([&](Operation *op) { count += codegen::countScalarOperations(op); });
    operations[entry->second.symbol] = count;
  }
  return operations;
}
