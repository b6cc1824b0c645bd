//===- ElementwiseBinary.cpp - z = f(x, y), comparison, selection ---------===//

#include "dialects/nn/IR/OpWriter.h"
#include "dialects/nn/IR/ScalarWriter.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace pdc::nn;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The shape of x and y broadcast, of operands of one element type.
template <typename OpT>
static LogicalResult broadcastOperands(std::optional<Location> loc, Value lhs, Value rhs,
                                       SmallVectorImpl<int64_t> &shape) {
  RankedTensorType x = tensorType(lhs), y = tensorType(rhs);
  if (x.getElementType() != y.getElementType())
    return inferError<OpT>(loc, "has operands of element types ", x.getElementType(), " and ",
                           y.getElementType(), ": expected one type; convert one with nn.cast");
  std::optional<SmallVector<int64_t>> common = broadcastShapes(x.getShape(), y.getShape());
  if (!common)
    return inferError<OpT>(loc, "has operands of shapes ", shapeText(x.getShape()), " and ",
                           shapeText(y.getShape()),
                           ": expected equal sizes, or size 1, counted from the last dimension");
  shape.assign(*common);
  return success();
}

template <typename OpT>
static LogicalResult inferArithmetic(std::optional<Location> loc, Value lhs, Value rhs, bool floatsOnly,
                                     SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(broadcastOperands<OpT>(loc, lhs, rhs, shape)))
    return failure();
  Type element = tensorType(lhs).getElementType();
  if (element.isInteger(1) || element.isUnsignedInteger() || (floatsOnly && !isa<FloatType>(element)))
    return inferError<OpT>(loc, "has operands of element type ", element, ": expected ",
                           floatsOnly ? "a floating-point type" : "a floating-point or signed integer type",
                           "; convert them with nn.cast");
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

//===----------------------------------------------------------------------===//
// Folding
//===----------------------------------------------------------------------===//

/// The value of a constant whose elements are all equal.
static std::optional<double> splatValue(Attribute attribute) {
  auto elements = dyn_cast_if_present<DenseElementsAttr>(attribute);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elements.getElementType()))
    return elements.getSplatValue<APFloat>().convertToDouble();
  return static_cast<double>(elements.getSplatValue<APInt>().getSExtValue());
}

/// Exact in double precision: integers whose double loses no bits, floating-point types of at most half its
/// precision (rounding a sum, difference, product or quotient twice gives what rounding once does), and f64
/// itself.
static bool foldsInDouble(Type element) {
  return isa<FloatType>(element) || element.getIntOrFloatBitWidth() <= 8;
}

/// x op y of two splats, or x where y is the neutral splat.
template <typename OpT, typename Function>
static OpFoldResult foldArithmetic(OpT op, typename OpT::FoldAdaptor adaptor, double neutral,
                                   Function function) {
  RankedTensorType type = op.getResult().getType();
  std::optional<double> x = splatValue(adaptor.getLhs()), y = splatValue(adaptor.getRhs());
  if (y && *y == neutral && op.getLhs().getType() == type)
    return op.getLhs();
  if (x && y && type.hasStaticShape() && foldsInDouble(type.getElementType()))
    return splatAttr(type, function(*x, *y));
  return {};
}

OpFoldResult AddOp::fold(FoldAdaptor adaptor) {
  return foldArithmetic(*this, adaptor, 0.0, [](double x, double y) { return x + y; });
}

OpFoldResult SubOp::fold(FoldAdaptor adaptor) {
  return foldArithmetic(*this, adaptor, 0.0, [](double x, double y) { return x - y; });
}

OpFoldResult MulOp::fold(FoldAdaptor adaptor) {
  RankedTensorType type = getResult().getType();
  // Not for floating-point types: zero times infinity or NaN is NaN.
  if (isa<IntegerType>(type.getElementType()) && type.hasStaticShape() &&
      splatValue(adaptor.getRhs()) == std::optional<double>(0.0))
    return splatAttr(type, 0.0);
  return foldArithmetic(*this, adaptor, 1.0, [](double x, double y) { return x * y; });
}

OpFoldResult DivOp::fold(FoldAdaptor adaptor) {
  return foldArithmetic(*this, adaptor, 1.0, [](double x, double y) { return x / y; });
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// Appends the gradients of x and y, made only for operands that can have one. `lhs` and `rhs` build them in
/// the shape of the result; here they are summed to the shapes of x and y.
template <typename OpT, typename Lhs, typename Rhs>
static LogicalResult addGradients(OpT op, OpBuilder &builder, SmallVectorImpl<Value> &gradients, Lhs lhs,
                                  Rhs rhs) {
  OpWriter w(builder, op.getLoc());
  auto add = [&](Value operand, auto build) {
    bool differentiable = isa<FloatType>(getElementTypeOrSelf(operand.getType())) &&
                          !operand.template getDefiningOp<ConstantOp>();
    gradients.push_back(differentiable ? reduceToShape(builder, op.getLoc(), build(w), operand.getType())
                                       : Value());
  };
  add(op.getLhs(), lhs);
  add(op.getRhs(), rhs);
  return success();
}

LogicalResult AddOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  auto same = [&](OpWriter &) { return grad; };
  return addGradients(*this, builder, operandGradients, same, same);
}

LogicalResult SubOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  return addGradients(
      *this, builder, operandGradients, [&](OpWriter &) { return grad; },
      [&](OpWriter &w) { return w.neg(grad); });
}

LogicalResult MulOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  return addGradients(
      *this, builder, operandGradients, [&](OpWriter &w) { return w.mul(grad, getRhs()); },
      [&](OpWriter &w) { return w.mul(grad, getLhs()); });
}

LogicalResult DivOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  return addGradients(
      *this, builder, operandGradients, [&](OpWriter &w) { return w.div(grad, getRhs()); },
      [&](OpWriter &w) { return w.neg(w.div(w.mul(grad, getResult()), getRhs())); });
}

/// max and min: the gradient goes to the operand that was taken, to x where both are equal.
template <typename OpT>
static LogicalResult extremumGradient(OpT op, OpBuilder &builder, Value grad, ComparePredicate takesLhs,
                                      SmallVectorImpl<Value> &gradients) {
  OpWriter w(builder, op.getLoc());
  Value taken = w.compare(takesLhs, op.getLhs(), op.getRhs());
  return addGradients(
      op, builder, gradients, [&](OpWriter &w) { return w.select(taken, grad, 0.0); },
      [&](OpWriter &w) { return w.select(taken, w.scalar(grad, 0.0), grad); });
}

LogicalResult MaxOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  return extremumGradient(*this, builder, resultGradients.front(), ComparePredicate::ge, operandGradients);
}

LogicalResult MinOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                   SmallVectorImpl<Value> &operandGradients) {
  return extremumGradient(*this, builder, resultGradients.front(), ComparePredicate::le, operandGradients);
}

//===----------------------------------------------------------------------===//
// Scalar computation
//===----------------------------------------------------------------------===//

/// An arithmetic op, its types, its sharding rule and its scalar computation for floating-point and integer
/// types.
#define PDC_ARITHMETIC(OpT, FloatOpT, IntegerOpT, floatsOnly)                                                \
  LogicalResult OpT::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,                \
                                      SmallVectorImpl<Type> &types) {                                        \
    return inferArithmetic<OpT>(loc, op.getLhs(), op.getRhs(), floatsOnly, types);                           \
  }                                                                                                          \
  Value OpT::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange) {                              \
    if (isa<FloatType>(elements[0].getType()))                                                               \
      return FloatOpT::create(builder, getLoc(), elements[0], elements[1]);                                  \
    return IntegerOpT::create(builder, getLoc(), elements[0], elements[1]);                                  \
  }                                                                                                          \
  ShardingRule OpT::getShardingRule() {                                                                      \
    return elementwiseRule((*this)->getOperandTypes(), (*this)->getResultTypes());                           \
  }

PDC_ARITHMETIC(AddOp, arith::AddFOp, arith::AddIOp, false)
PDC_ARITHMETIC(SubOp, arith::SubFOp, arith::SubIOp, false)
PDC_ARITHMETIC(MulOp, arith::MulFOp, arith::MulIOp, false)
PDC_ARITHMETIC(DivOp, arith::DivFOp, arith::DivSIOp, true)
PDC_ARITHMETIC(MaxOp, arith::MaximumFOp, arith::MaxSIOp, false)
PDC_ARITHMETIC(MinOp, arith::MinimumFOp, arith::MinSIOp, false)

//===----------------------------------------------------------------------===//
// compare and select
//===----------------------------------------------------------------------===//

LogicalResult CompareOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(broadcastOperands<CompareOp>(loc, op.getLhs(), op.getRhs(), shape)))
    return failure();
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 1)));
  return success();
}

ShardingRule CompareOp::getShardingRule() {
  return elementwiseRule((*this)->getOperandTypes(), (*this)->getResultTypes());
}

Value CompareOp::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange) {
  // In the order of ComparePredicate. NaN is unequal to everything.
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr F floats[] = {F::OEQ, F::UNE, F::OLT, F::OLE, F::OGT, F::OGE};
  static constexpr I integers[] = {I::eq, I::ne, I::slt, I::sle, I::sgt, I::sge};
  static constexpr I unsignedIntegers[] = {I::eq, I::ne, I::ult, I::ule, I::ugt, I::uge};
  Type element = getElementTypeOrSelf(getLhs().getType());
  auto predicate = static_cast<size_t>(getPredicate());
  if (isa<FloatType>(element))
    return arith::CmpFOp::create(builder, getLoc(), floats[predicate], elements[0], elements[1]);
  bool isUnsigned = element.isInteger(1) || element.isUnsignedInteger();
  return arith::CmpIOp::create(builder, getLoc(), (isUnsigned ? unsignedIntegers : integers)[predicate],
                               elements[0], elements[1]);
}

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape;
  if (failed(broadcastOperands<SelectOp>(loc, op.getLhs(), op.getRhs(), shape)))
    return failure();
  RankedTensorType condition = tensorType(op.getCondition());
  std::optional<SmallVector<int64_t>> common = broadcastShapes(condition.getShape(), shape);
  if (!common)
    return inferError<SelectOp>(loc, "has a condition of shape ", shapeText(condition.getShape()),
                                " and values of shape ", shapeText(shape),
                                ": expected equal sizes, or size 1, counted from the last dimension");
  types.push_back(RankedTensorType::get(*common, tensorType(op.getLhs()).getElementType()));
  return success();
}

ShardingRule SelectOp::getShardingRule() {
  return elementwiseRule((*this)->getOperandTypes(), (*this)->getResultTypes());
}

Value SelectOp::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange) {
  return arith::SelectOp::create(builder, getLoc(), elements[0], elements[1], elements[2]);
}

LogicalResult SelectOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  operandGradients.push_back(Value());
  return addGradients(
      *this, builder, operandGradients, [&](OpWriter &w) { return w.select(getCondition(), grad, 0.0); },
      [&](OpWriter &w) { return w.select(getCondition(), w.scalar(grad, 0.0), grad); });
}
