//===- ElementwiseUnary.cpp - y = f(x), and gradients of activations ------===//

#include "dialects/nn/IR/OpWriter.h"
#include "dialects/nn/IR/ScalarWriter.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace pdc::nn;

/// The scalar formula of an op and its sharding rule; `x` and `y` are the elements.
#define PDC_SCALAR(OpT, formula)                                                                             \
  Value OpT::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange) {                              \
    ScalarWriter s(builder, getLoc());                                                                       \
    [[maybe_unused]] Value x = elements[0], y = elements[elements.size() - 1];                               \
    return formula;                                                                                          \
  }                                                                                                          \
  ShardingRule OpT::getShardingRule() {                                                                      \
    return elementwiseRule((*this)->getOperandTypes(), (*this)->getResultTypes());                           \
  }

/// The gradient of an op, given that of its result as `grad`.
#define PDC_GRADIENT(OpT, formula)                                                                           \
  LogicalResult OpT::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,                      \
                                   SmallVectorImpl<Value> &operandGradients) {                               \
    OpWriter w(builder, getLoc());                                                                           \
    Value grad = resultGradients.front();                                                                    \
    operandGradients.push_back(formula);                                                                     \
    return success();                                                                                        \
  }

//===----------------------------------------------------------------------===//
// Formulas of more than a line
//===----------------------------------------------------------------------===//

/// The inner function of gelu's approximation: sqrt(2/pi) (x + 0.044715 x^3).
static constexpr double geluCubic = 0.044715;
static const double geluScale = std::sqrt(2.0 / std::numbers::pi);

static Value geluInner(ScalarWriter &s, Value x) {
  Value polynomial = s.add(s.mul(s.mul(x, x), geluCubic), 1.0);
  return s.mul(s.mul(x, geluScale), polynomial);
}

/// The distribution function of the standard normal distribution.
static Value normalCdf(ScalarWriter &s, Value x) {
  Value erf = s.make<math::ErfOp>(s.mul(x, std::numbers::sqrt2 / 2));
  return s.mul(s.add(erf, 1.0), 0.5);
}

static Value gelu(ScalarWriter &s, Value x, bool tanh) {
  if (tanh)
    return s.mul(s.mul(x, 0.5), s.add(s.tanh(geluInner(s, x)), 1.0));
  return s.mul(x, normalCdf(s, x));
}

static Value geluDerivative(ScalarWriter &s, Value x, bool tanh) {
  if (!tanh) {
    double scale = 1 / std::sqrt(2 * std::numbers::pi);
    Value density = s.mul(s.exp(s.mul(s.mul(x, x), -0.5)), scale);
    return s.add(normalCdf(s, x), s.mul(x, density));
  }
  Value t = s.tanh(geluInner(s, x));
  Value innerDerivative = s.mul(s.add(s.mul(s.mul(x, x), 3 * geluCubic), 1.0), geluScale);
  Value curved = s.mul(s.mul(s.mul(x, 0.5), s.sub(1.0, s.mul(t, t))), innerDerivative);
  return s.add(s.mul(s.add(t, 1.0), 0.5), curved);
}

static Value siluDerivative(ScalarWriter &s, Value x) {
  Value sigmoid = s.sigmoid(x);
  return s.mul(sigmoid, s.add(s.mul(x, s.sub(1.0, sigmoid)), 1.0));
}

/// sign(x) grad, which is zero at zero.
static Value signTimes(OpWriter &w, Value x, Value grad) {
  Value negative = w.select(w.compare(ComparePredicate::lt, x, 0.0), w.neg(grad), 0.0);
  return w.select(w.compare(ComparePredicate::gt, x, 0.0), grad, negative);
}

//===----------------------------------------------------------------------===//
// y = f(x)
//===----------------------------------------------------------------------===//

// A comparison and not a maximum: NaN stays NaN, and it is one instruction.
PDC_SCALAR(ReluOp, s.select(s.compare(arith::CmpFPredicate::OLT, x, 0.0), s.real(x.getType(), 0.0), x))
PDC_SCALAR(SiluOp, s.mul(x, s.sigmoid(x)))
PDC_SCALAR(TanhOp, s.tanh(x))
PDC_SCALAR(SigmoidOp, s.sigmoid(x))
PDC_SCALAR(ExpOp, s.exp(x))
PDC_SCALAR(LogOp, s.make<math::LogOp>(x))
PDC_SCALAR(SqrtOp, s.make<math::SqrtOp>(x))
PDC_SCALAR(RsqrtOp, s.div(1.0, s.make<math::SqrtOp>(x)))
PDC_SCALAR(NegOp, s.neg(x))
PDC_SCALAR(AbsOp, s.make<math::AbsFOp>(x))
PDC_SCALAR(SquareOp, s.mul(x, x))
PDC_SCALAR(GeluOp, gelu(s, x, getTanh()))

PDC_GRADIENT(ReluOp, ReluGradOp::create(builder, getLoc(), grad, getResult()))
PDC_GRADIENT(SiluOp, SiluGradOp::create(builder, getLoc(), grad, getInput()))
PDC_GRADIENT(TanhOp, TanhGradOp::create(builder, getLoc(), grad, getResult()))
PDC_GRADIENT(SigmoidOp, SigmoidGradOp::create(builder, getLoc(), grad, getResult()))
PDC_GRADIENT(ExpOp, w.mul(grad, getResult()))
PDC_GRADIENT(LogOp, w.div(grad, getInput()))
PDC_GRADIENT(SqrtOp, w.div(w.mul(grad, 0.5), getResult()))
PDC_GRADIENT(RsqrtOp, w.mul(w.mul(grad, -0.5), w.mul(getResult(), w.square(getResult()))))
PDC_GRADIENT(NegOp, w.neg(grad))
PDC_GRADIENT(AbsOp, signTimes(w, getInput(), grad))
PDC_GRADIENT(SquareOp, w.mul(grad, w.mul(getInput(), 2.0)))
PDC_GRADIENT(GeluOp, GeluGradOp::create(builder, getLoc(), grad, getInput(), getTanh()))

//===----------------------------------------------------------------------===//
// Gradients of activations: x is the gradient of the result, y the activation's input or result
//===----------------------------------------------------------------------===//

PDC_SCALAR(ReluGradOp, s.select(s.compare(arith::CmpFPredicate::OGT, y, 0.0), x, s.real(x.getType(), 0.0)))
PDC_SCALAR(SiluGradOp, s.mul(x, siluDerivative(s, y)))
PDC_SCALAR(TanhGradOp, s.mul(x, s.sub(1.0, s.mul(y, y))))
PDC_SCALAR(SigmoidGradOp, s.mul(x, s.mul(y, s.sub(1.0, y))))
PDC_SCALAR(GeluGradOp, s.mul(x, geluDerivative(s, y, getTanh())))
