//===- ElementwiseSources.cpp - cast, constant, iota, dropout_mask --------===//

#include "dialects/nn/IR/OpWriter.h"
#include "dialects/nn/IR/ScalarWriter.h"
#include <cmath>
#include <map>

using namespace mlir;
using namespace pdc::nn;

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, type, elements);
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from.getShape() != to.getShape())
    return emitOpError("changes the shape from ")
           << shapeText(from.getShape()) << " to " << shapeText(to.getShape())
           << ": expected the same shape; nn.reshape and nn.broadcast change it";
  if (to.getElementType().isInteger(1))
    return emitOpError("gives element type i1: expected nn.compare, which says what is true");
  return success();
}

ShardingRule CastOp::getShardingRule() {
  return elementwiseRule(getInput().getType(), getResult().getType());
}

LogicalResult CastOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  Type from = getInput().getType().getElementType();
  bool differentiable = isa<FloatType>(from) && isa<FloatType>(getResult().getType().getElementType());
  operandGradients.push_back(differentiable ? castTo(builder, getLoc(), resultGradients.front(), from)
                                            : Value());
  return success();
}

/// Whether every value of `from` is one of `to`.
static bool widens(Type from, Type to) {
  auto fromFloat = dyn_cast<FloatType>(from), toFloat = dyn_cast<FloatType>(to);
  if (fromFloat && toFloat) {
    if (from == to)
      return true;
    // f16 and bf16 hold values that the other does not.
    return toFloat.getWidth() > fromFloat.getWidth();
  }
  auto fromInteger = dyn_cast<IntegerType>(from), toInteger = dyn_cast<IntegerType>(to);
  return fromInteger && toInteger && fromInteger.getSignedness() == toInteger.getSignedness() &&
         fromInteger.getWidth() > 1 && toInteger.getWidth() >= fromInteger.getWidth();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  RankedTensorType from = getInput().getType(), to = getResult().getType();
  if (from == to)
    return getInput();
  auto splat = dyn_cast_if_present<DenseElementsAttr>(adaptor.getInput());
  if (splat && splat.isSplat() && isa<FloatType>(from.getElementType()) &&
      isa<FloatType>(to.getElementType()))
    return splatAttr(to, splat.getSplatValue<APFloat>().convertToDouble());
  // A cast to a type that holds all values and on to a third type is one cast.
  if (auto inner = getInput().getDefiningOp<CastOp>()) {
    RankedTensorType first = inner.getInput().getType();
    bool sameKind = isa<FloatType>(first.getElementType()) == isa<FloatType>(to.getElementType());
    if (sameKind && widens(first.getElementType(), from.getElementType())) {
      getInputMutable().assign(inner.getInput());
      return getResult();
    }
  }
  return {};
}

Value CastOp::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange) {
  ScalarWriter s(builder, getLoc());
  Value x = elements[0];
  Type fromElement = getInput().getType().getElementType();
  Type to = computeType(getResult().getType().getElementType());
  Type from = x.getType();
  bool fromUnsigned = fromElement.isInteger(1) || fromElement.isUnsignedInteger();
  if (isa<FloatType>(from) && isa<FloatType>(to)) {
    if (from == to)
      return x;
    if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
      return s.make<arith::ExtFOp>(to, x);
    return s.make<arith::TruncFOp>(to, x);
  }
  if (isa<FloatType>(to))
    return fromUnsigned ? s.make<arith::UIToFPOp>(to, x) : s.make<arith::SIToFPOp>(to, x);
  Type signless = IntegerType::get(to.getContext(), to.getIntOrFloatBitWidth());
  if (isa<FloatType>(from))
    return to.isUnsignedInteger() ? s.make<arith::FPToUIOp>(signless, x)
                                  : s.make<arith::FPToSIOp>(signless, x);
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = signless.getIntOrFloatBitWidth();
  if (fromWidth == toWidth)
    return x;
  if (fromWidth > toWidth)
    return s.make<arith::TruncIOp>(signless, x);
  return fromUnsigned ? s.make<arith::ExtUIOp>(signless, x) : s.make<arith::ExtSIOp>(signless, x);
}

//===----------------------------------------------------------------------===//
// constant
//===----------------------------------------------------------------------===//

void ConstantOp::build(OpBuilder &builder, OperationState &state, RankedTensorType type, double value) {
  build(builder, state, type, splatAttr(type, value));
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValueAttr(); }

ShardingRule ConstantOp::getShardingRule() {
  // Parts of other constants would differ from rank to rank.
  return getValue().isSplat() ? elementwiseRule({}, getResult().getType())
                              : replicatedRule({}, getResult().getType());
}

SmallVector<Value> ConstantOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  auto local = cast<RankedTensorType>(part.resultTypes.front());
  ElementsAttr value = getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value); dense && dense.isSplat())
    value = dense.resizeSplat(local);
  return {ConstantOp::create(builder, getLoc(), local, value)};
}

//===----------------------------------------------------------------------===//
// iota
//===----------------------------------------------------------------------===//

LogicalResult IotaOp::verify() {
  RankedTensorType type = getResult().getType();
  if (!isAxis(getDimension(), type.getRank()))
    return emitOpError("counts along dimension ")
           << static_cast<int64_t>(getDimension()) << ": expected 0 to " << type.getRank() - 1 << " for "
           << type;
  if (type.getElementType().isInteger(1) || type.getElementType().isUnsignedInteger())
    return emitOpError("has element type ")
           << type.getElementType() << ": expected a float or a signed integer";
  return success();
}

ShardingRule IotaOp::getShardingRule() {
  ShardingRule rule;
  rule.results.push_back(addFactors(rule, getResult().getType(), "dim"));
  for (int factor : rule.results[0][getDimension()])
    rule.factors[factor].needsStart = true;
  if (getStart())
    rule.operands.emplace_back();
  return rule;
}

SmallVector<Value> IotaOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  Value start = getStart() ? part.operands.front() : Value();
  ShardingRule rule = getShardingRule();
  for (int factor : rule.results[0][getDimension()])
    if (Value own = part.starts[factor])
      start = start ? Value(AddOp::create(builder, getLoc(), start, own)) : own;
  return {IotaOp::create(builder, getLoc(), part.resultTypes.front(), getDimension(), start)};
}

Value IotaOp::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange index) {
  ScalarWriter s(builder, getLoc());
  Type element = computeType(getResult().getType().getElementType());
  Value position = index[getDimension()];
  if (isa<FloatType>(element)) {
    position = s.make<arith::IndexCastOp>(builder.getI64Type(), position);
    if (getStart())
      position = s.make<arith::AddIOp>(position, elements.front());
    return s.make<arith::SIToFPOp>(element, position);
  }
  position = s.make<arith::IndexCastOp>(element, position);
  if (!getStart())
    return position;
  Value start = elements.front();
  if (start.getType() != element)
    start = s.make<arith::TruncIOp>(element, start);
  return s.make<arith::AddIOp>(position, start);
}

//===----------------------------------------------------------------------===//
// dropout_mask
//===----------------------------------------------------------------------===//

LogicalResult DropoutMaskOp::verify() {
  RankedTensorType type = getResult().getType();
  double rate = getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return emitOpError("has rate ") << rate << ": expected 0 or more, and less than 1";
  if (getGlobalShape().size() != static_cast<size_t>(type.getRank()))
    return emitOpError("has a global shape of ") << getGlobalShape().size() << " dimensions: expected "
                                                 << type.getRank() << ", as many as " << type << " has";
  if (getSeed().getType().getRank() != 0 || llvm::any_of(getStarts(), [](Value start) {
        return cast<RankedTensorType>(start.getType()).getRank() != 0;
      }))
    return emitOpError("expected seed and starts of type tensor<i64>");
  if (getStarts().size() != getStartDimensions().size())
    return emitOpError("has ") << getStarts().size() << " starts and " << getStartDimensions().size()
                               << " start dimensions: expected one start for each";
  for (auto [index, dimension] : llvm::enumerate(getStartDimensions()))
    if (!isAxis(dimension, type.getRank()) || (index && dimension <= getStartDimensions()[index - 1]))
      return emitOpError("has start dimension ")
             << dimension << ": expected ascending ones below " << type.getRank();
  return success();
}

ShardingRule DropoutMaskOp::getShardingRule() {
  ShardingRule rule = elementwiseRule((*this)->getOperandTypes(), (*this)->getResultTypes());
  for (Factor &factor : rule.factors)
    factor.needsStart = true;
  return rule;
}

/// The part of a mask is that of the whole tensor, whatever the number of ranks: it is told where it begins. A part of a
/// part begins where both do.
SmallVector<Value> DropoutMaskOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  std::map<int64_t, Value> starts;
  for (auto [dimension, start] : llvm::zip(getStartDimensions(), part.operands.drop_front()))
    starts[dimension] = start;
  ShardingRule rule = getShardingRule();
  for (auto [dimension, factors] : llvm::enumerate(rule.results.front()))
    for (int factor : factors)
      if (Value own = part.starts[factor]) {
        Value &start = starts[dimension];
        start = start ? Value(AddOp::create(builder, getLoc(), start, own)) : own;
      }
  return {DropoutMaskOp::create(builder, getLoc(), part.resultTypes.front(), part.operands.front(),
                                llvm::to_vector(llvm::make_second_range(starts)), getRateAttr(),
                                getStreamAttr(), getGlobalShapeAttr(),
                                builder.getDenseI64ArrayAttr(
                                    llvm::to_vector(llvm::make_first_range(starts))))};
}

namespace {
/// The hash of dropout_mask's description, on i32, which vectorizes well.
class MaskHash {
public:
  MaskHash(OpBuilder &builder, Location loc) : s(builder, loc), i32(builder.getI32Type()) {}

  Value constant(int64_t value) { return s.integer(i32, value); }
  Value add(Value x, Value y) { return s.make<arith::AddIOp>(x, y); }
  Value mul(Value x, Value y) { return s.make<arith::MulIOp>(x, y); }
  Value bitXor(Value x, Value y) { return s.make<arith::XOrIOp>(x, y); }
  Value low(Value x) { return s.make<arith::TruncIOp>(i32, x); }
  Value high(Value x) {
    return s.make<arith::TruncIOp>(i32, s.make<arith::ShRUIOp>(x, s.integer(x.getType(), 32)));
  }

  /// The finalizer of MurmurHash3.
  Value mix(Value h) {
    h = foldRight(h, 16);
    h = foldRight(mul(h, constant(0x85ebca6b)), 13);
    return foldRight(mul(h, constant(0xc2b2ae35)), 16);
  }

  ScalarWriter s;
  Type i32;

private:
  Value foldRight(Value h, int64_t bits) { return bitXor(h, s.make<arith::ShRUIOp>(h, constant(bits))); }
};
} // namespace

/// The element's row-major index in the global shape, in `type`.
static Value globalIndex(DropoutMaskOp op, ScalarWriter &s, Type type, ValueRange starts, ValueRange index) {
  Value linear = s.integer(type, 0);
  for (auto [dimension, size] : llvm::enumerate(op.getGlobalShape())) {
    Value position = s.make<arith::IndexCastOp>(type, index[dimension]);
    const auto *start = llvm::find(op.getStartDimensions(), static_cast<int64_t>(dimension));
    if (start != op.getStartDimensions().end()) {
      Value offset = starts[start - op.getStartDimensions().begin()];
      position = s.make<arith::AddIOp>(
          position, offset.getType() == type ? offset : s.make<arith::TruncIOp>(type, offset));
    }
    linear = s.make<arith::AddIOp>(s.make<arith::MulIOp>(linear, s.integer(type, size)), position);
  }
  return linear;
}

Value DropoutMaskOp::buildScalar(OpBuilder &builder, ValueRange elements, ValueRange index) {
  constexpr int64_t golden = 0x9e3779b9;
  MaskHash hash(builder, getLoc());
  Value seed = elements.front();
  Value streamKey = hash.mix(hash.constant(static_cast<int64_t>(getStream()) + golden));
  Value key0 = hash.mix(hash.bitXor(hash.low(seed), hash.mix(hash.bitXor(hash.high(seed), streamKey))));
  Value key1 = hash.mix(hash.add(key0, hash.constant(golden)));

  // Where every index fits, 32-bit arithmetic does, in twice as many vector lanes.
  Value low, high;
  if (staticElementCount(getGlobalShape()) <= int64_t(1) << 32) {
    low = globalIndex(*this, hash.s, hash.i32, elements.drop_front(), index);
    high = key1;
  } else {
    Value wide = globalIndex(*this, hash.s, builder.getI64Type(), elements.drop_front(), index);
    low = hash.low(wide);
    high = hash.bitXor(hash.high(wide), key1);
  }
  Value h = hash.mix(hash.bitXor(hash.mix(hash.bitXor(low, key0)), high));

  double rate = getRate().convertToDouble();
  Value threshold = hash.constant(static_cast<int64_t>(std::floor(rate * 4294967296.0)));
  Value kept = hash.s.make<arith::CmpIOp>(arith::CmpIPredicate::uge, h, threshold);
  Type type = computeType(getResult().getType().getElementType());
  return hash.s.select(kept, hash.s.real(type, 1.0 / (1.0 - rate)), hash.s.real(type, 0.0));
}
