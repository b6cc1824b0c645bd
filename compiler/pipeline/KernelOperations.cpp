//===- KernelOperations.cpp - what generated kernels compute --------------===//

#include "compiler/pipeline/KernelOperations.h"
#include "dialects/nn/Analysis/ScalarTraits.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;

static double elements(Value value) {
  return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
}

/// An elementwise op takes its scalar computation for every element of the result, a reduction one operation for
/// every element that it reads.
static double operationsOf(Operation *op) {
  if (isa<nn::ElementwiseOpInterface>(op))
    return nn::getScalarTraits(op).instructions * elements(op->getResult(0));
  if (isa<nn::ReduceSumOp, nn::ReduceMaxOp>(op))
    return elements(op->getOperand(0));
  return 0;
}

cost::KernelOperations
pipeline::countKernelOperations(ModuleOp module, const std::map<std::string, codegen::KernelEntry> &entries) {
  cost::KernelOperations operations;
  for (auto define : module.getOps<rt::DefineOp>()) {
    auto entry = entries.find(define.getSymName().str());
    if (entry == entries.end())
      continue;
    double count = 0;
    define->walk([&](Operation *op) { count += operationsOf(op); });
    operations[entry->second.symbol] = count;
  }
  return operations;
}
