//===- reference.cpp - fusions evaluated one scalar at a time -------------===//

#include "tests/compiler/codegen/reference.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen::test;

static unsigned width(Type type) { return isa<IndexType>(type) ? 64 : type.getIntOrFloatBitWidth(); }

/// Wraps to the width of `type`, sign-extended; i1 as 0 or 1.
static int64_t wrap(int64_t value, Type type) {
  unsigned bits = width(type);
  if (bits == 1)
    return value & 1;
  return bits >= 64 ? value
                    : static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - bits)) >> (64 - bits);
}

static uint64_t asUnsigned(int64_t value, Type type) {
  unsigned bits = width(type);
  return bits >= 64 ? static_cast<uint64_t>(value)
                    : static_cast<uint64_t>(value) & ((uint64_t(1) << bits) - 1);
}

static bool compareFloats(arith::CmpFPredicate predicate, double x, double y) {
  switch (predicate) {
  case arith::CmpFPredicate::OEQ:
    return x == y;
  case arith::CmpFPredicate::UNE:
    return !(x == y);
  case arith::CmpFPredicate::ONE:
    return x < y || x > y;
  case arith::CmpFPredicate::OLT:
    return x < y;
  case arith::CmpFPredicate::OLE:
    return x <= y;
  case arith::CmpFPredicate::OGT:
    return x > y;
  case arith::CmpFPredicate::OGE:
    return x >= y;
  case arith::CmpFPredicate::UNO:
    return std::isnan(x) || std::isnan(y);
  case arith::CmpFPredicate::ORD:
    return !std::isnan(x) && !std::isnan(y);
  case arith::CmpFPredicate::ULT:
    return !(x >= y);
  case arith::CmpFPredicate::ULE:
    return !(x > y);
  case arith::CmpFPredicate::UGT:
    return !(x <= y);
  case arith::CmpFPredicate::UGE:
    return !(x < y);
  case arith::CmpFPredicate::UEQ:
    return !(x < y || x > y);
  default:
    llvm_unreachable("a predicate that no op is made of");
  }
}

static bool compareIntegers(arith::CmpIPredicate predicate, int64_t x, int64_t y, Type type) {
  uint64_t ux = asUnsigned(x, type), uy = asUnsigned(y, type);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ux == uy;
  case arith::CmpIPredicate::ne:
    return ux != uy;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return ux < uy;
  case arith::CmpIPredicate::ule:
    return ux <= uy;
  case arith::CmpIPredicate::ugt:
    return ux > uy;
  case arith::CmpIPredicate::uge:
    return ux >= uy;
  }
  llvm_unreachable("unknown predicate");
}

static double largest(double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y); }

static double floatResult(Operation *op, ArrayRef<Scalar> in) {
  auto x = [&](unsigned i) { return in[i].number; };
  if (isa<arith::AddFOp>(op))
    return x(0) + x(1);
  if (isa<arith::SubFOp>(op))
    return x(0) - x(1);
  if (isa<arith::MulFOp>(op))
    return x(0) * x(1);
  if (isa<arith::DivFOp>(op))
    return x(0) / x(1);
  if (isa<arith::NegFOp>(op))
    return -x(0);
  if (isa<arith::MaximumFOp>(op))
    return largest(x(0), x(1));
  if (isa<arith::MinimumFOp>(op))
    return -largest(-x(0), -x(1));
  if (isa<arith::MaxNumFOp>(op))
    return std::fmax(x(0), x(1));
  if (isa<arith::MinNumFOp>(op))
    return std::fmin(x(0), x(1));
  if (isa<arith::ExtFOp>(op))
    return x(0);
  if (isa<arith::TruncFOp>(op))
    return op->getResult(0).getType().isF32() ? static_cast<float>(x(0)) : x(0);
  if (isa<arith::SIToFPOp>(op))
    return static_cast<double>(in[0].integer);
  if (isa<arith::UIToFPOp>(op))
    return static_cast<double>(asUnsigned(in[0].integer, op->getOperand(0).getType()));
  if (isa<math::ExpOp>(op))
    return std::exp(x(0));
  if (isa<math::LogOp>(op))
    return std::log(x(0));
  if (isa<math::TanhOp>(op))
    return std::tanh(x(0));
  if (isa<math::ErfOp>(op))
    return std::erf(x(0));
  if (isa<math::SqrtOp>(op))
    return std::sqrt(x(0));
  if (isa<math::RsqrtOp>(op))
    return 1 / std::sqrt(x(0));
  if (isa<math::AbsFOp>(op))
    return std::fabs(x(0));
  if (isa<math::PowFOp>(op))
    return std::pow(x(0), x(1));
  if (isa<math::FmaOp>(op))
    return x(0) * x(1) + x(2);
  if (isa<math::CopySignOp>(op))
    return std::copysign(x(0), x(1));
  op->emitError("the reference does not know this op");
  abort();
}

static int64_t integerResult(Operation *op, ArrayRef<Scalar> in) {
  auto x = [&](unsigned i) { return in[i].integer; };
  auto u = [&](unsigned i) { return asUnsigned(in[i].integer, op->getOperand(i).getType()); };
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return compareFloats(compare.getPredicate(), in[0].number, in[1].number);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return compareIntegers(compare.getPredicate(), x(0), x(1), op->getOperand(0).getType());
  if (isa<arith::AddIOp>(op))
    return static_cast<int64_t>(u(0) + u(1));
  if (isa<arith::SubIOp>(op))
    return static_cast<int64_t>(u(0) - u(1));
  if (isa<arith::MulIOp>(op))
    return static_cast<int64_t>(u(0) * u(1));
  if (isa<arith::DivSIOp>(op))
    return x(1) ? x(0) / x(1) : 0;
  if (isa<arith::AndIOp>(op))
    return x(0) & x(1);
  if (isa<arith::OrIOp>(op))
    return x(0) | x(1);
  if (isa<arith::XOrIOp>(op))
    return x(0) ^ x(1);
  if (isa<arith::ShLIOp>(op))
    return static_cast<int64_t>(u(0) << u(1));
  if (isa<arith::ShRUIOp>(op))
    return static_cast<int64_t>(u(0) >> u(1));
  if (isa<arith::ShRSIOp>(op))
    return x(0) >> u(1);
  if (isa<arith::MaxSIOp>(op))
    return std::max(x(0), x(1));
  if (isa<arith::MinSIOp>(op))
    return std::min(x(0), x(1));
  if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op))
    return static_cast<int64_t>(u(0));
  if (isa<arith::ExtSIOp>(op) && op->getOperand(0).getType().isInteger(1))
    return x(0) ? -1 : 0;
  if (isa<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp>(op))
    return x(0);
  if (isa<arith::FPToSIOp, arith::FPToUIOp>(op))
    return static_cast<int64_t>(in[0].number);
  op->emitError("the reference does not know this op");
  abort();
}

static Scalar scalarOf(Attribute attribute) {
  if (auto number = dyn_cast<FloatAttr>(attribute))
    return {number.getValueAsDouble(), 0};
  auto integer = cast<IntegerAttr>(attribute);
  bool isBool = integer.getType().isInteger(1);
  return {0, isBool ? static_cast<int64_t>(integer.getValue().getZExtValue())
                    : integer.getValue().getSExtValue()};
}

namespace {

/// The scalar computation of an elementwise op, built once.
class ScalarFunction {
public:
  explicit ScalarFunction(nn::ElementwiseOpInterface op) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointToStart(&block);
    auto compute = [](Type type) -> Type {
      Type element = cast<RankedTensorType>(type).getElementType();
      if (element.isBF16() || element.isF16())
        return Float32Type::get(type.getContext());
      if (auto integer = dyn_cast<IntegerType>(element))
        return IntegerType::get(type.getContext(), integer.getWidth());
      return element;
    };
    SmallVector<Value> elements, index;
    for (Type type : op->getOperandTypes())
      elements.push_back(block.addArgument(compute(type), op->getLoc()));
    auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
    for (int64_t i = 0; i < resultType.getRank(); ++i)
      index.push_back(block.addArgument(builder.getIndexType(), op->getLoc()));
    result = op.buildScalar(builder, elements, index);
  }

  Scalar call(ArrayRef<Scalar> arguments) {
    llvm::DenseMap<Value, Scalar> values;
    for (auto [argument, scalar] : llvm::zip_equal(block.getArguments(), arguments))
      values[argument] = scalar;
    for (Operation &op : block) {
      if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
        values[constant] = scalarOf(constant.getValue());
        continue;
      }
      SmallVector<Scalar> in;
      for (Value operand : op.getOperands())
        in.push_back(values.lookup(operand));
      Value out = op.getResult(0);
      if (isa<arith::SelectOp>(op))
        values[out] = in[0].integer ? in[1] : in[2];
      else if (isa<FloatType>(out.getType()))
        values[out] = {floatResult(&op, in), 0};
      else
        values[out] = {0, wrap(integerResult(&op, in), out.getType())};
    }
    return values.lookup(result);
  }

private:
  Block block;
  Value result;
};

} // namespace

static SmallVector<int64_t> indexOf(int64_t flat, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> index(shape.size());
  for (int64_t i = static_cast<int64_t>(shape.size()) - 1; i >= 0; --i) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

/// The element of a tensor of `shape` that broadcasting takes for `index`.
static int64_t broadcastIndex(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t at = index[index.size() - shape.size() + i];
    flat = flat * shape[i] + (shape[i] == 1 ? 0 : at);
  }
  return flat;
}

static Tensor elementwise(nn::ElementwiseOpInterface op, ArrayRef<const Tensor *> operands) {
  ScalarFunction function(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Tensor result(type.getNumElements());
  for (int64_t flat = 0; flat < type.getNumElements(); ++flat) {
    SmallVector<int64_t> index = indexOf(flat, type.getShape());
    SmallVector<Scalar> arguments;
    for (auto [operand, operandType] : llvm::zip_equal(operands, op->getOperandTypes()))
      arguments.push_back((*operand)[broadcastIndex(index, cast<RankedTensorType>(operandType).getShape())]);
    for (int64_t i : index)
      arguments.push_back({0, i});
    result[flat] = function.call(arguments);
  }
  return result;
}

static Tensor reduction(Operation *op, ArrayRef<int64_t> axes, const Tensor &input) {
  bool isMax = isa<nn::ReduceMaxOp>(op);
  auto type = cast<RankedTensorType>(op->getOperand(0).getType());
  Tensor result(cast<RankedTensorType>(op->getResult(0).getType()).getNumElements(),
                {isMax ? -INFINITY : 0.0, 0});
  for (int64_t flat = 0; flat < type.getNumElements(); ++flat) {
    SmallVector<int64_t> index = indexOf(flat, type.getShape());
    int64_t to = 0;
    for (int64_t i = 0; i < type.getRank(); ++i)
      if (!llvm::is_contained(axes, i))
        to = to * type.getDimSize(i) + index[i];
    double &sum = result[to].number;
    sum = isMax ? largest(sum, input[flat].number) : sum + input[flat].number;
  }
  return result;
}

std::vector<Tensor> codegen::test::evaluate(nn::FusionOp fusion, const std::vector<Tensor> &operands) {
  llvm::DenseMap<Value, Tensor> values;
  Block &body = fusion.getBody().front();
  for (auto [argument, operand] : llvm::zip_equal(body.getArguments(), operands))
    values[argument] = operand;
  for (Operation &op : body.without_terminator()) {
    Tensor result;
    if (auto constant = dyn_cast<nn::ConstantOp>(op)) {
      for (Attribute element : cast<DenseElementsAttr>(constant.getValue()).getValues<Attribute>())
        result.push_back(scalarOf(element));
    } else if (auto sum = dyn_cast<nn::ReduceSumOp>(op)) {
      result = reduction(&op, sum.getAxes(), values[sum.getInput()]);
    } else if (auto max = dyn_cast<nn::ReduceMaxOp>(op)) {
      result = reduction(&op, max.getAxes(), values[max.getInput()]);
    } else if (isa<nn::ReshapeOp>(op)) {
      result = values[op.getOperand(0)];
    } else {
      SmallVector<const Tensor *> inputs;
      for (Value operand : op.getOperands())
        inputs.push_back(&values[operand]);
      result = elementwise(cast<nn::ElementwiseOpInterface>(op), inputs);
    }
    values[op.getResult(0)] = std::move(result);
  }
  std::vector<Tensor> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(values[value]);
  return results;
}
