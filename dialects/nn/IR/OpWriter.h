//===- OpWriter.h - formulas as nn ops --------------------------*- C++ -*-===//
//
// Decompositions are formulas. With this they read like ones: w.mul(w.sub(x, mean), w.rsqrt(variance)).
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_IR_OPWRITER_H
#define PDC_DIALECTS_NN_IR_OPWRITER_H

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/NNUtils.h"

namespace pdc::nn {

/// Builds nn ops at one place. Operands broadcast as in numpy; numbers become scalar constants of the other
/// operand's element type.
class OpWriter {
public:
  OpWriter(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::Value add(mlir::Value x, mlir::Value y) { return AddOp::create(builder, loc, x, y); }
  mlir::Value add(mlir::Value x, double y) { return add(x, scalar(x, y)); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return SubOp::create(builder, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return MulOp::create(builder, loc, x, y); }
  /// x itself for y = 1.
  mlir::Value mul(mlir::Value x, double y) { return y == 1.0 ? x : mul(x, scalar(x, y)); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return DivOp::create(builder, loc, x, y); }
  /// 1 / x.
  mlir::Value reciprocal(mlir::Value x) { return div(scalar(x, 1), x); }
  mlir::Value max(mlir::Value x, double y) { return MaxOp::create(builder, loc, x, scalar(x, y)); }
  mlir::Value square(mlir::Value x) { return SquareOp::create(builder, loc, x); }
  mlir::Value exp(mlir::Value x) { return ExpOp::create(builder, loc, x); }
  mlir::Value log(mlir::Value x) { return LogOp::create(builder, loc, x); }
  mlir::Value rsqrt(mlir::Value x) { return RsqrtOp::create(builder, loc, x); }
  mlir::Value neg(mlir::Value x) { return NegOp::create(builder, loc, x); }

  mlir::Value compare(ComparePredicate predicate, mlir::Value x, mlir::Value y) {
    return CompareOp::create(builder, loc, predicate, x, y);
  }
  mlir::Value compare(ComparePredicate predicate, mlir::Value x, double y) {
    return compare(predicate, x, scalar(x, y));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return SelectOp::create(builder, loc, condition, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, double y) {
    return select(condition, x, scalar(x, y));
  }

  mlir::Value cast(mlir::Value x, mlir::Type elementType) { return castTo(builder, loc, x, elementType); }
  /// In the type that generated kernels compute in: f32, or f64 for f64.
  mlir::Value compute(mlir::Value x) { return cast(x, computeType(mlir::getElementTypeOrSelf(x.getType()))); }
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape) {
    return reshapeTo(builder, loc, x, shape);
  }
  /// With one more dimension, of size one, at the end.
  mlir::Value asColumn(mlir::Value x) {
    llvm::SmallVector<int64_t> shape(tensorType(x).getShape());
    shape.push_back(1);
    return reshape(x, shape);
  }
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation) {
    return TransposeOp::create(builder, loc, x, permutation);
  }

  mlir::Value sum(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims = false) {
    return axes.empty() ? x : mlir::Value(ReduceSumOp::create(builder, loc, x, axes, keepDims));
  }
  /// Over the last dimension, which is kept with size one.
  mlir::Value rowSum(mlir::Value x) { return sum(x, {tensorType(x).getRank() - 1}, /*keepDims=*/true); }
  mlir::Value rowMean(mlir::Value x) {
    return mul(rowSum(x), 1.0 / static_cast<double>(tensorType(x).getShape().back()));
  }
  mlir::Value rowMax(mlir::Value x) {
    return ReduceMaxOp::create(builder, loc, x, llvm::ArrayRef<int64_t>{tensorType(x).getRank() - 1},
                               /*keep_dims=*/true);
  }
  /// The index along `dimension`, of x's shape; counts from `start` where there is one.
  mlir::Value iota(mlir::Value x, int64_t dimension, mlir::Type elementType,
                   mlir::Value start = mlir::Value()) {
    return IotaOp::create(builder, loc, tensorType(x).clone(elementType), dimension, start);
  }

  mlir::Value scalar(mlir::Value like, double value) { return scalarConstant(builder, loc, like, value); }

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_OPWRITER_H
