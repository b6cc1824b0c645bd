//===- fusions.cpp - fused groups of common layers ------------------------===//

#include "tests/compiler/codegen/fusions.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen::test;

nn::FusionOp codegen::test::softmax(FusionWriter &w, ArrayRef<int64_t> shape, bool causal, Type element) {
  int64_t last = static_cast<int64_t>(shape.size()) - 1;
  Value input = w.operand(shape, element), x = input;
  if (element)
    x = nn::CastOp::create(w.builder, w.loc, w.type(shape), input);
  Value scaled = w.op<nn::MulOp>({x, w.splat(0.5)});
  if (causal) {
    Type i32 = w.builder.getI32Type();
    Value allowed =
        w.compare(nn::ComparePredicate::le, w.iota(last, shape, i32), w.iota(last - 1, shape, i32));
    scaled = w.op<nn::SelectOp>({allowed, scaled, w.splat(-INFINITY)});
  }
  Value e = w.op<nn::ExpOp>({w.op<nn::SubOp>({scaled, w.max(scaled, {last})})});
  Value result = w.op<nn::DivOp>({e, w.sum(e, {last})});
  if (element)
    result = nn::CastOp::create(w.builder, w.loc, w.type(shape, element), result);
  return w.finish({result});
}

namespace {
struct Normalized {
  Normalized(FusionWriter &w, Value x, int64_t columns) {
    Value share = w.splat(1.0 / static_cast<double>(columns));
    Value mean = w.op<nn::MulOp>({w.sum(x, {1}), share});
    Value centered = w.op<nn::SubOp>({x, mean});
    Value variance = w.op<nn::MulOp>({w.sum(w.op<nn::SquareOp>({centered}), {1}), share});
    reciprocal = w.op<nn::RsqrtOp>({w.op<nn::AddOp>({variance, w.splat(1e-5)})});
    value = w.op<nn::MulOp>({centered, reciprocal});
  }
  Value reciprocal, value;
};
} // namespace

nn::FusionOp codegen::test::layerNorm(FusionWriter &w, int64_t rows, int64_t columns) {
  Value x = w.operand({rows, columns}), scale = w.operand({columns}), bias = w.operand({columns});
  Normalized normalized(w, x, columns);
  return w.finish({w.op<nn::AddOp>({w.op<nn::MulOp>({normalized.value, scale}), bias})});
}

nn::FusionOp codegen::test::layerNormGrad(FusionWriter &w, int64_t rows, int64_t columns) {
  Value grad = w.operand({rows, columns}), x = w.operand({rows, columns}), scale = w.operand({columns});
  Normalized normalized(w, x, columns);
  Value share = w.splat(1.0 / static_cast<double>(columns));
  Value scaled = w.op<nn::MulOp>({grad, scale});
  Value mean = w.op<nn::MulOp>({w.sum(scaled, {1}), share});
  Value along = w.op<nn::MulOp>({w.sum(w.op<nn::MulOp>({scaled, normalized.value}), {1}), share});
  Value centered =
      w.op<nn::SubOp>({w.op<nn::SubOp>({scaled, mean}), w.op<nn::MulOp>({normalized.value, along})});
  return w.finish({w.op<nn::MulOp>({centered, normalized.reciprocal})});
}

nn::FusionOp codegen::test::crossEntropyRows(FusionWriter &w, int64_t rows, int64_t classes) {
  Type i32 = w.builder.getI32Type();
  Value logits = w.operand({rows, classes}), labels = w.operand({rows, 1}, i32);
  Value shifted = w.op<nn::SubOp>({logits, w.max(logits, {1})});
  Value sum = w.sum(w.op<nn::ExpOp>({shifted}), {1}, /*keepDims=*/false);
  Value isLabel = w.compare(nn::ComparePredicate::eq, w.iota(1, {rows, classes}, i32), labels);
  Value ofLabel = w.sum(w.op<nn::SelectOp>({isLabel, shifted, w.splat(0)}), {1}, /*keepDims=*/false);
  return w.finish({w.op<nn::SubOp>({w.op<nn::LogOp>({sum}), ofLabel})});
}

nn::FusionOp codegen::test::crossEntropyRowsGrad(FusionWriter &w, int64_t rows, int64_t classes) {
  Type i32 = w.builder.getI32Type();
  Value logits = w.operand({rows, classes}), labels = w.operand({rows, 1}, i32), grad = w.operand({rows, 1});
  Value e = w.op<nn::ExpOp>({w.op<nn::SubOp>({logits, w.max(logits, {1})})});
  Value softmax = w.op<nn::DivOp>({e, w.sum(e, {1})});
  Value isLabel = w.compare(nn::ComparePredicate::eq, w.iota(1, {rows, classes}, i32), labels);
  Value oneHot = nn::CastOp::create(w.builder, w.loc, w.type({rows, classes}), isLabel);
  return w.finish({w.op<nn::MulOp>({grad, w.op<nn::SubOp>({softmax, oneHot})})});
}

nn::FusionOp codegen::test::channelStatistics(FusionWriter &w, int64_t n, int64_t c, int64_t h,
                                              int64_t width) {
  Value x = w.operand({n, c, h, width});
  Value share = w.splat(1.0 / static_cast<double>(n * h * width));
  Value mean = w.op<nn::MulOp>({w.sum(x, {0, 2, 3}), share});
  Value centered = w.op<nn::SubOp>({x, mean});
  Value variance = w.op<nn::MulOp>({w.sum(w.op<nn::SquareOp>({centered}), {0, 2, 3}), share});
  Value result = w.op<nn::MulOp>({centered, w.op<nn::RsqrtOp>({w.op<nn::AddOp>({variance, w.splat(1e-5)})})});
  return w.finish({w.reshape(mean, {c}), w.reshape(variance, {c}), result});
}

nn::FusionOp codegen::test::adamW(FusionWriter &w, ArrayRef<int64_t> shape) {
  Value param = w.operand(shape), grad = w.operand(shape), m = w.operand(shape), v = w.operand(shape),
        rate = w.operand({});
  Value newM = w.op<nn::AddOp>({w.op<nn::MulOp>({w.splat(0.9), m}), w.op<nn::MulOp>({w.splat(0.1), grad})});
  Value newV = w.op<nn::AddOp>(
      {w.op<nn::MulOp>({w.splat(0.999), v}), w.op<nn::MulOp>({w.splat(0.001), w.op<nn::SquareOp>({grad})})});
  Value step = w.op<nn::DivOp>({newM, w.op<nn::AddOp>({w.op<nn::SqrtOp>({newV}), w.splat(1e-3)})});
  Value decayed = w.op<nn::AddOp>({step, w.op<nn::MulOp>({w.splat(0.01), param})});
  Value newParam = w.op<nn::SubOp>({param, w.op<nn::MulOp>({rate, decayed})});
  return w.finish({newParam, newM, newV}, {{0, 0}, {2, 1}, {3, 2}});
}

nn::FusionOp codegen::test::columnSums(FusionWriter &w, int64_t rows, int64_t columns) {
  Value x = w.operand({rows, columns}), y = w.operand({rows, columns});
  return w.finish({w.sum(w.op<nn::MulOp>({x, y}), {0}, /*keepDims=*/false), w.sum(x, {0})});
}
