//===- Matmul.cpp - linear, matmul, batch_matmul --------------------------===//
//
// All of them are the library call "matmul", C [b..., m, n] = A [b..., m, k] x B [b..., k, n] (+ bias [n]):
// what is flattened or transposed is a view of the operand.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/NNUtils.h"

using namespace mlir;
using namespace pdc::nn;

namespace {

/// A view's dimensions, as in LibraryOperand.
using ViewDims = SmallVector<SmallVector<int64_t, 4>, 4>;

/// A value of `rank` dimensions as a matrix: all but the last `columns` ones are its rows.
ViewDims matrixOf(int64_t rank, int64_t columns) {
  SmallVector<int64_t, 4> dims = leadingDims(rank);
  auto rows = ArrayRef<int64_t>(dims).drop_back(columns), rest = ArrayRef<int64_t>(dims).take_back(columns);
  return {SmallVector<int64_t, 4>(rows), SmallVector<int64_t, 4>(rest)};
}

/// Likewise, seen transposed.
ViewDims transposedMatrixOf(int64_t rank, int64_t columns) {
  ViewDims dims = matrixOf(rank, columns);
  std::swap(dims[0], dims[1]);
  return dims;
}

/// [b..., x, y] itself, or as [b..., y, x].
ViewDims matrixView(int64_t rank, bool transpose) {
  ViewDims dims;
  for (int64_t i = 0; i < rank; ++i)
    dims.push_back({i});
  if (transpose)
    std::swap(dims[rank - 2], dims[rank - 1]);
  return dims;
}

LibraryCall matmulCall() {
  LibraryCall call;
  call.name = "matmul";
  call.stridedOperands = true;
  return call;
}

/// The size of dimension `i` counted from the end: 1 is the last.
int64_t fromEnd(RankedTensorType type, int64_t i) { return type.getDimSize(type.getRank() - i); }

} // namespace

//===----------------------------------------------------------------------===//
// linear
//===----------------------------------------------------------------------===//

/// "[in, out]", or "[out, in]" of a transposed weight.
static StringRef weightForm(bool transposed) { return transposed ? "[out, in]" : "[in, out]"; }

/// Fails unless some dimensions of the input, and not all, are inner ones.
template <typename OpT>
static LogicalResult checkInnerDims(std::optional<Location> location, RankedTensorType input, int64_t innerDims) {
  if (innerDims < 1)
    return inferError<OpT>(location, "has `inner_dims` ", innerDims, ": expected at least 1");
  return checkRankAtLeast<OpT>(location, "input", input, innerDims + 1,
                               innerDims == 1 ? "[..., in]" : "[..., in...]");
}

LogicalResult LinearOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), weight = tensorType(op.getWeight());
  auto inner = static_cast<int64_t>(op.getInnerDims());
  bool transposed = op.getTransposeWeight();
  if (failed(checkInnerDims<LinearOp>(location, input, inner)) ||
      failed(checkStaticButBatch<LinearOp>(location, "input", input)) ||
      failed(checkRankAtLeast<LinearOp>(location, "weight", weight, inner + 1,
                                        transposed ? "[out, in] (`transpose_weight`)" : "[in, out]")) ||
      failed(checkSameElementType<LinearOp>(location, "input", input, "weight", weight)))
    return failure();
  int64_t outer = weight.getRank() - inner;
  ArrayRef<int64_t> in = transposed ? weight.getShape().take_back(inner) : weight.getShape().take_front(inner);
  ArrayRef<int64_t> out = transposed ? weight.getShape().take_front(outer) : weight.getShape().take_back(outer);
  ArrayRef<int64_t> features = input.getShape().take_back(inner);
  if (features != in) {
    bool hasOneEach = inner == 1;
    return inferError<LinearOp>(
        location, "expected weight ", weightForm(transposed), " with in = ",
        hasOneEach ? std::to_string(features.front()) : shapeText(features), ", the last dimension",
        hasOneEach ? "" : "s", " of the input ", input, ", found ", weight,
        out == features ? (transposed ? "; is `transpose_weight` wrong here?" : "; is `transpose_weight` missing?")
                        : "");
  }
  if (op.getBias()) {
    RankedTensorType bias = tensorType(op.getBias());
    RankedTensorType expected = RankedTensorType::get(out, weight.getElementType());
    if (bias != expected)
      return inferError<LinearOp>(location, "expected bias ", expected, " for the weight ", weight,
                                  ", found ", bias);
  }
  SmallVector<int64_t> shape(input.getShape().drop_back(inner));
  llvm::append_range(shape, out);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult LinearOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  int64_t outer = getOuterDims();
  operandGradients.push_back(
      LinearOp::create(builder, getLoc(), grad, getWeight(), /*bias=*/Value(), !getTransposeWeight(), outer));
  operandGradients.push_back(LinearGradWeightOp::create(builder, getLoc(), getInput(), grad,
                                                        getTransposeWeight(), getInnerDims()));
  if (getBias())
    operandGradients.push_back(
        ReduceSumOp::create(builder, getLoc(), grad, leadingDims(tensorType(grad).getRank() - outer)));
  return success();
}

/// One factor per dimension: `name`, then `name` and a number.
static ValueFactors addNumbered(ShardingRule &rule, StringRef name, ArrayRef<int64_t> sizes,
                                FactorKind kind = FactorKind::Parallel, bool needsStart = false) {
  ValueFactors factors;
  for (auto [i, size] : llvm::enumerate(sizes))
    factors.push_back({rule.addFactor(i == 0 ? name.str() : name.str() + std::to_string(i), size, kind, needsStart)});
  return factors;
}

/// The dimensions of both, in that order.
static ValueFactors joined(ValueFactors first, const ValueFactors &second) {
  llvm::append_range(first, second);
  return first;
}

ShardingRule LinearOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> result = getType().getShape();
  ValueFactors rows = addRowFactors(rule, result.drop_back(getOuterDims()));
  ValueFactors n = addNumbered(rule, "n", result.take_back(getOuterDims()));
  // Of the parts of a split sum, the first adds the bias.
  ValueFactors k = addNumbered(rule, "k", getInput().getType().getShape().take_back(getInnerDims()),
                               FactorKind::ReductionSum, /*needsStart=*/getBias() != nullptr);
  rule.operands = {joined(rows, k), getTransposeWeight() ? joined(n, k) : joined(k, n)};
  if (getBias())
    rule.operands.push_back(n);
  rule.results = {joined(rows, n)};
  return rule;
}

SmallVector<Value> LinearOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  SmallVector<Value> operands(part.operands);
  for (Value start : ArrayRef<Value>(part.starts).take_back(getInnerDims())) // the inner factors are the last ones
    if (start)
      operands[2] = biasOfFirstPart(builder, getLoc(), operands[2], start);
  return cloneLocal(*this, builder, {operands, part.resultTypes, part.starts, part.halos});
}

OpCost LinearOp::getCost() {
  double result = elements(getResult());
  double inner = staticElementCount(getInput().getType().getShape().take_back(getInnerDims()));
  return withFlops(streamingCost(*this), 2 * result * inner + (getBias() ? result : 0));
}

LibraryCall LinearOp::getLibraryCall() {
  LibraryCall call = matmulCall();
  int64_t inner = getInnerDims(), outer = getOuterDims();
  call.operands.push_back({0, matrixOf(getInput().getType().getRank(), inner)});
  call.operands.push_back(
      {1, getTransposeWeight() ? transposedMatrixOf(inner + outer, inner) : matrixOf(inner + outer, outer)});
  if (getBias())
    call.operands.push_back({2, {leadingDims(outer)}});
  call.operands.push_back({getNumOperands(), matrixOf(getType().getRank(), outer)});
  return call;
}

//===----------------------------------------------------------------------===//
// linear_grad_weight
//===----------------------------------------------------------------------===//

LogicalResult LinearGradWeightOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), grad = tensorType(op.getGrad());
  auto inner = static_cast<int64_t>(op.getInnerDims());
  if (failed(checkInnerDims<LinearGradWeightOp>(location, input, inner)) ||
      failed(checkRankAtLeast<LinearGradWeightOp>(location, "grad", grad, input.getRank() - inner + 1,
                                                  "[..., out]")) ||
      failed(checkSameElementType<LinearGradWeightOp>(location, "input", input, "grad", grad)))
    return failure();
  int64_t rows = input.getRank() - inner;
  if (input.getShape().take_front(rows) != grad.getShape().take_front(rows))
    return inferError<LinearGradWeightOp>(
        location, "expected input and grad with equal leading dimensions, found ", input, " and ", grad);
  ArrayRef<int64_t> in = input.getShape().drop_front(rows), out = grad.getShape().drop_front(rows);
  SmallVector<int64_t> shape(op.getTransposeWeight() ? out : in);
  llvm::append_range(shape, op.getTransposeWeight() ? in : out);
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

ShardingRule LinearGradWeightOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> input = getInput().getType().getShape(), grad = getGrad().getType().getShape();
  ArrayRef<int64_t> leading = input.drop_back(getInnerDims());
  ValueFactors rows = addRowFactors(rule, leading, FactorKind::ReductionSum);
  ValueFactors in = addNumbered(rule, "in", input.drop_front(leading.size()));
  ValueFactors out = addNumbered(rule, "out", grad.drop_front(leading.size()));
  rule.operands = {joined(rows, in), joined(rows, out)};
  rule.results.push_back(getTransposeWeight() ? joined(out, in) : joined(in, out));
  return rule;
}

OpCost LinearGradWeightOp::getCost() {
  ArrayRef<int64_t> grad = getGrad().getType().getShape();
  int64_t rows = getInput().getType().getRank() - static_cast<int64_t>(getInnerDims());
  double outer = staticElementCount(grad.drop_front(rows));
  return withFlops(streamingCost(*this), 2 * elements(getInput()) * outer);
}

LibraryCall LinearGradWeightOp::getLibraryCall() {
  LibraryCall call = matmulCall();
  int64_t inner = getInnerDims(), inputRank = getInput().getType().getRank();
  int64_t gradRank = getGrad().getType().getRank(), outer = gradRank - (inputRank - inner);
  // x^T dy, or its transpose dy^T x: the result is dense either way.
  if (getTransposeWeight()) {
    call.operands.push_back({1, transposedMatrixOf(gradRank, outer)});
    call.operands.push_back({0, matrixOf(inputRank, inner)});
  } else {
    call.operands.push_back({0, transposedMatrixOf(inputRank, inner)});
    call.operands.push_back({1, matrixOf(gradRank, outer)});
  }
  call.operands.push_back({2, matrixOf(inner + outer, getTransposeWeight() ? inner : outer)});
  return call;
}

//===----------------------------------------------------------------------===//
// matmul and batch_matmul
//===----------------------------------------------------------------------===//

template <typename OpT>
static LogicalResult inferMatmul(std::optional<Location> location, typename OpT::Adaptor op,
                                 SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = tensorType(op.getLhs()), rhs = tensorType(op.getRhs());
  if (failed(checkSameElementType<OpT>(location, "lhs", lhs, "rhs", rhs)))
    return failure();
  if (lhs.getShape().drop_back(2) != rhs.getShape().drop_back(2))
    return inferError<OpT>(location, "expected lhs and rhs with equal batch dimensions, found ", lhs, " and ",
                           rhs);
  int64_t m = fromEnd(lhs, op.getTransposeLhs() ? 1 : 2), lhsK = fromEnd(lhs, op.getTransposeLhs() ? 2 : 1);
  int64_t n = fromEnd(rhs, op.getTransposeRhs() ? 2 : 1), rhsK = fromEnd(rhs, op.getTransposeRhs() ? 1 : 2);
  if (lhsK != rhsK)
    return inferError<OpT>(location, "expected equal inner dimensions k of lhs ",
                           op.getTransposeLhs() ? "[..., k, m]" : "[..., m, k]", " and rhs ",
                           op.getTransposeRhs() ? "[..., n, k]" : "[..., k, n]", ", found ", lhs, " and ",
                           rhs);
  SmallVector<int64_t> shape(lhs.getShape().drop_back(2));
  shape.append({m, n});
  types.push_back(RankedTensorType::get(shape, lhs.getElementType()));
  return success();
}

/// With A' = lhs as [m, k], B' = rhs as [k, n] and C = A' B':  dA' = dC B'^T and dB' = A'^T dC, or their
/// transposes where an operand is stored transposed.
template <typename OpT>
static LogicalResult matmulGradient(OpT op, OpBuilder &builder, Value grad,
                                    SmallVectorImpl<Value> &operandGradients) {
  Location loc = op.getLoc();
  Value lhs = op.getLhs(), rhs = op.getRhs();
  bool transposeLhs = op.getTransposeLhs(), transposeRhs = op.getTransposeRhs();
  operandGradients.push_back(transposeLhs ? OpT::create(builder, loc, rhs, grad, transposeRhs, true)
                                          : OpT::create(builder, loc, grad, rhs, false, !transposeRhs));
  operandGradients.push_back(transposeRhs ? OpT::create(builder, loc, grad, lhs, true, transposeLhs)
                                          : OpT::create(builder, loc, lhs, grad, !transposeLhs, false));
  return success();
}

template <typename OpT> static ShardingRule matmulRule(OpT op) {
  ShardingRule rule;
  RankedTensorType result = op.getType(), lhs = op.getLhs().getType();
  ValueFactors batch;
  for (auto [i, size] : llvm::enumerate(result.getShape().drop_back(2)))
    batch.push_back({rule.addFactor(i == 0 ? "batch" : "batch" + std::to_string(i), size)});
  int m = rule.addFactor("m", fromEnd(result, 2));
  int n = rule.addFactor("n", fromEnd(result, 1));
  int k = rule.addFactor("k", fromEnd(lhs, op.getTransposeLhs() ? 2 : 1), FactorKind::ReductionSum);
  auto matrix = [&](int rows, int columns, bool transpose) {
    return transpose ? withFactor(withFactor(batch, columns), rows)
                     : withFactor(withFactor(batch, rows), columns);
  };
  rule.operands = {matrix(m, k, op.getTransposeLhs()), matrix(k, n, op.getTransposeRhs())};
  rule.results = {matrix(m, n, false)};
  return rule;
}

template <typename OpT> static OpCost matmulCost(OpT op) {
  RankedTensorType lhs = op.getLhs().getType();
  double k = static_cast<double>(fromEnd(lhs, op.getTransposeLhs() ? 2 : 1));
  return withFlops(streamingCost(op), 2 * elements(op.getResult()) * k);
}

template <typename OpT> static LibraryCall matmulLibraryCall(OpT op) {
  LibraryCall call = matmulCall();
  int64_t rank = op.getType().getRank();
  call.operands.push_back({0, matrixView(rank, op.getTransposeLhs())});
  call.operands.push_back({1, matrixView(rank, op.getTransposeRhs())});
  call.operands.push_back({2, matrixView(rank, /*transpose=*/false)});
  return call;
}

LogicalResult MatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  if (failed(checkRank<MatmulOp>(location, "lhs", tensorType(op.getLhs()), 2, "[m, k]")) ||
      failed(checkRank<MatmulOp>(location, "rhs", tensorType(op.getRhs()), 2, "[k, n]")))
    return failure();
  return inferMatmul<MatmulOp>(location, op, types);
}
LogicalResult MatmulOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  return matmulGradient(*this, builder, resultGradients.front(), operandGradients);
}
ShardingRule MatmulOp::getShardingRule() { return matmulRule(*this); }
OpCost MatmulOp::getCost() { return matmulCost(*this); }
LibraryCall MatmulOp::getLibraryCall() { return matmulLibraryCall(*this); }

/// The batch `?` may be in dimension 0, or, as when experts get tokens of the whole batch, in the rows m.
static LogicalResult checkStaticButRows(std::optional<Location> location, RankedTensorType lhs) {
  for (int64_t i = 1; i < lhs.getRank(); ++i)
    if (lhs.isDynamicDim(i) && i != lhs.getRank() - 2)
      return inferError<BatchMatmulOp>(
          location, "expected static dimensions (only dimension 0 and the rows may be `?`), found lhs ", lhs,
          " with `?` at dimension ", i);
  return success();
}

LogicalResult BatchMatmulOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType lhs = tensorType(op.getLhs()), rhs = tensorType(op.getRhs());
  if (failed(checkRankAtLeast<BatchMatmulOp>(location, "lhs", lhs, 3, "[b..., m, k]")) ||
      failed(checkRank<BatchMatmulOp>(location, "rhs", rhs, lhs.getRank(), "[b..., k, n], as lhs,")) ||
      failed(checkStaticButRows(location, lhs)) ||
      failed(checkStaticButBatch<BatchMatmulOp>(location, "rhs", rhs)))
    return failure();
  return inferMatmul<BatchMatmulOp>(location, op, types);
}
LogicalResult BatchMatmulOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                           SmallVectorImpl<Value> &operandGradients) {
  return matmulGradient(*this, builder, resultGradients.front(), operandGradients);
}
ShardingRule BatchMatmulOp::getShardingRule() { return matmulRule(*this); }
OpCost BatchMatmulOp::getCost() { return matmulCost(*this); }
LibraryCall BatchMatmulOp::getLibraryCall() { return matmulLibraryCall(*this); }
