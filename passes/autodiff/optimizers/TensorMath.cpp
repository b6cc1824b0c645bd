//===- TensorMath.cpp - formulas as ops -----------------------------------===//

#include "passes/autodiff/optimizers/TensorMath.h"
#include "dialects/nn/IR/NN.h"

using namespace mlir;
using namespace pdc;
using pdc::passes::TensorMath;

Value TensorMath::scalar(double value) {
  return nn::ConstantOp::create(builder, loc, RankedTensorType::get({}, builder.getF32Type()), value);
}
Value TensorMath::add(Value a, Value b) { return nn::AddOp::create(builder, loc, a, b); }
Value TensorMath::sub(Value a, Value b) { return nn::SubOp::create(builder, loc, a, b); }
Value TensorMath::mul(Value a, Value b) { return nn::MulOp::create(builder, loc, a, b); }
Value TensorMath::div(Value a, Value b) { return nn::DivOp::create(builder, loc, a, b); }
Value TensorMath::min(Value a, Value b) { return nn::MinOp::create(builder, loc, a, b); }
Value TensorMath::square(Value a) { return nn::SquareOp::create(builder, loc, a); }
Value TensorMath::sqrt(Value a) { return nn::SqrtOp::create(builder, loc, a); }
Value TensorMath::exp(Value a) { return nn::ExpOp::create(builder, loc, a); }

Value TensorMath::sumOfSquares(Value a) {
  Value squares = square(a);
  int64_t rank = cast<RankedTensorType>(a.getType()).getRank();
  if (rank == 0)
    return squares;
  return nn::ReduceSumOp::create(builder, loc, squares, llvm::to_vector(llvm::seq<int64_t>(0, rank)));
}

Value TensorMath::norm(Value a) { return sqrt(sumOfSquares(a)); }

Value TensorMath::combine(double a, Value x, double b, Value y) { return add(mul(x, a), mul(y, b)); }

Value TensorMath::ifZero(Value a, Value replacement, Value otherwise) {
  Value isZero = nn::CompareOp::create(builder, loc, nn::ComparePredicate::eq, a, scalar(0));
  return nn::SelectOp::create(builder, loc, isZero, replacement, otherwise);
}
