//===- ScalarOperations.cpp - what generated code computes ----------------===//

#include "compiler/codegen/ScalarOperations.h"
#include "compiler/codegen/MathExpansion.h"
#include "dialects/nn/Analysis/ScalarTraits.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/decompose/DecomposePass.h"

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
  // Who searches for a plan has generated nothing yet.
  op->getContext()->loadDialect<arith::ArithDialect, math::MathDialect>();
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

/// Of the parts that an op is fused by; it stays as it is.
static double operationsOfParts(Operation *op) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(op->getLoc());
  scratch->getBody()->push_back(op->clone());
  if (failed(passes::decomposeOps(*scratch, nn::DecomposeStage::BeforeFusion)))
    return 0;
  double count = 0;
  scratch->walk([&](Operation *part) {
    if (part != *scratch)
      count += codegen::countScalarOperations(part);
  });
  return count;
}

double codegen::countScalarOperations(Operation *op) {
  if (isa<nn::DecomposableOpInterface>(op))
    return operationsOfParts(op);
  if (auto elementwise = dyn_cast<nn::ElementwiseOpInterface>(op))
    return operationsOfScalar(elementwise) * elements(op->getResult(0));
  if (isa<nn::ReduceSumOp, nn::ReduceMaxOp>(op))
    return elements(op->getOperand(0));
  return 0;
}
