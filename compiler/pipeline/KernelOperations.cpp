//===- KernelOperations.cpp - what generated kernels compute --------------===//

#include "compiler/pipeline/KernelOperations.h"
#include "compiler/codegen/MathExpansion.h"
#include "dialects/nn/Analysis/ScalarTraits.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace pdc;

static double elements(Value value) {
  return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
}

/// Of the code of one op that has been expanded: one each, but as many as their throughput for divisions and roots.
static double operationsOfScalar(Operation *op) {
  if (isa<arith::ConstantOp, UnrealizedConversionCastOp, ModuleOp>(op))
    return 0;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 5;
  return isa<math::RsqrtOp>(op) ? 10 : 1;
}

/// The scalar computation of an op as it is generated, transcendental functions as their polynomials.
static double operationsOfScalar(nn::ElementwiseOpInterface op) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto placeholder = [&](Type type) {
    return UnrealizedConversionCastOp::create(builder, op.getLoc(), TypeRange(type), ValueRange()).getResult(0);
  };
  SmallVector<Value> elements, index;
  for (Value operand : op->getOperands())
    elements.push_back(placeholder(nn::getComputeType(getElementTypeOrSelf(operand.getType()))));
  for (int64_t i = 0; i < cast<RankedTensorType>(op->getResult(0).getType()).getRank(); ++i)
    index.push_back(placeholder(builder.getIndexType()));
  op.buildScalar(builder, elements, index);
  codegen::expandMath(*module);
  double count = 0;
  module->walk([&](Operation *scalar) { count += operationsOfScalar(scalar); });
  return count;
}

/// An elementwise op takes its scalar computation for every element of the result, a reduction one operation for
/// every element that it reads.
static double operationsOf(Operation *op) {
  if (auto elementwise = dyn_cast<nn::ElementwiseOpInterface>(op))
    return operationsOfScalar(elementwise) * elements(op->getResult(0));
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
