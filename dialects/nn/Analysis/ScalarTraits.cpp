//===- ScalarTraits.cpp - what an elementwise op costs per element --------===//

#include "dialects/nn/Analysis/ScalarTraits.h"
#include "dialects/nn/Interfaces/NNInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace pdc::nn;

Type pdc::nn::getComputeType(Type elementType) {
  if (elementType.isBF16() || elementType.isF16())
    return Float32Type::get(elementType.getContext());
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(elementType.getContext(), integer.getWidth());
  return elementType;
}

/// Instructions of the vectorized code of one op, from the lengths of the polynomials and the throughput of
/// division.
static int instructionsOf(Operation *op) {
  if (isa<arith::ConstantOp>(op))
    return 0;
  if (isa<math::ExpOp>(op))
    return 12;
  if (isa<math::LogOp, math::TanhOp>(op))
    return 20;
  if (isa<math::ErfOp>(op))
    return 30;
  if (isa<math::PowFOp>(op))
    return 60;
  if (isa<arith::DivFOp, math::SqrtOp>(op))
    return 5;
  if (isa<math::RsqrtOp>(op))
    return 10;
  return 1;
}

ScalarTraits pdc::nn::getScalarTraits(Operation *op) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise)
    return {};
  Block block;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToStart(&block);
  SmallVector<Value> elements, index;
  for (Value operand : op->getOperands())
    elements.push_back(block.addArgument(
        getComputeType(cast<RankedTensorType>(operand.getType()).getElementType()), op->getLoc()));
  auto rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  for (int64_t i = 0; i < rank; ++i)
    index.push_back(block.addArgument(builder.getIndexType(), op->getLoc()));
  elementwise.buildScalar(builder, elements, index);
  ScalarTraits traits;
  for (Value position : index)
    traits.usesPosition |= !position.use_empty();
  for (Operation &scalar : block) {
    traits.instructions += instructionsOf(&scalar);
    bool isFloat = scalar.getNumResults() == 1 && isa<FloatType>(scalar.getResult(0).getType());
    traits.flops +=
        isFloat && !isa<arith::ConstantOp, arith::SelectOp, arith::SIToFPOp, arith::UIToFPOp>(scalar);
  }
  return traits;
}
