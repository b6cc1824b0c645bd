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

/// [rows..., features] as a matrix [rows, features].
ViewDims flattenRows(int64_t rank) { return {leadingDims(rank - 1), {rank - 1}}; }

/// [rows..., features] as the matrix [features, rows].
ViewDims flattenRowsTransposed(int64_t rank) { return {{rank - 1}, leadingDims(rank - 1)}; }

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

LogicalResult LinearOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                         SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), weight = tensorType(op.getWeight());
  if (failed(checkRankAtLeast<LinearOp>(location, "input", input, 2, "[..., in]")) ||
      failed(checkStaticButBatch<LinearOp>(location, "input", input)) ||
      failed(checkRank<LinearOp>(location, "weight", weight, 2,
                                 op.getTransposeWeight() ? "[out, in] (`transpose_weight`)" : "[in, out]")) ||
      failed(checkSameElementType<LinearOp>(location, "input", input, "weight", weight)))
    return failure();
  int64_t in = weight.getDimSize(op.getTransposeWeight() ? 1 : 0);
  int64_t out = weight.getDimSize(op.getTransposeWeight() ? 0 : 1);
  if (input.getShape().back() != in)
    return inferError<LinearOp>(
        location, "expected weight ", op.getTransposeWeight() ? "[out, in]" : "[in, out]",
        " with in = ", input.getShape().back(), ", the last dimension of the input ", input, ", found ",
        weight,
        out == input.getShape().back() ? (op.getTransposeWeight() ? "; is `transpose_weight` wrong here?"
                                                                  : "; is `transpose_weight` missing?")
                                       : "");
  if (op.getBias()) {
    RankedTensorType bias = tensorType(op.getBias());
    RankedTensorType expected = RankedTensorType::get({out}, weight.getElementType());
    if (bias != expected)
      return inferError<LinearOp>(location, "expected bias ", expected, " for the weight ", weight,
                                  ", found ", bias);
  }
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = out;
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

LogicalResult LinearOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                      SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  operandGradients.push_back(
      LinearOp::create(builder, getLoc(), grad, getWeight(), /*bias=*/Value(), !getTransposeWeight()));
  operandGradients.push_back(
      LinearGradWeightOp::create(builder, getLoc(), getInput(), grad, getTransposeWeight()));
  if (getBias())
    operandGradients.push_back(
        ReduceSumOp::create(builder, getLoc(), grad, leadingDims(tensorType(grad).getRank() - 1)));
  return success();
}

ShardingRule LinearOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getType().getShape().drop_back());
  int n = rule.addFactor("n", getType().getShape().back());
  // Of the parts of a split sum, the first adds the bias.
  int k = rule.addFactor("k", getInput().getType().getShape().back(), FactorKind::ReductionSum,
                         /*needsStart=*/getBias() != nullptr);
  rule.operands = {withFactor(rows, k)};
  rule.operands.push_back(getTransposeWeight() ? ValueFactors{{n}, {k}} : ValueFactors{{k}, {n}});
  if (getBias())
    rule.operands.push_back({{n}});
  rule.results = {withFactor(rows, n)};
  return rule;
}

SmallVector<Value> LinearOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  SmallVector<Value> operands(part.operands);
  if (Value start = part.starts.back()) // k is the last factor
    operands[2] = biasOfFirstPart(builder, getLoc(), operands[2], start);
  return cloneLocal(*this, builder, {operands, part.resultTypes, part.starts, part.halos});
}

OpCost LinearOp::getCost() {
  double result = elements(getResult());
  double flops = 2 * result * static_cast<double>(getInput().getType().getShape().back());
  return withFlops(streamingCost(*this), flops + (getBias() ? result : 0));
}

LibraryCall LinearOp::getLibraryCall() {
  LibraryCall call = matmulCall();
  int64_t rank = getType().getRank();
  call.operands.push_back({0, flattenRows(rank)});
  call.operands.push_back({1, matrixView(2, getTransposeWeight())});
  if (getBias())
    call.operands.push_back({2, {{0}}});
  call.operands.push_back({getNumOperands(), flattenRows(rank)});
  return call;
}

//===----------------------------------------------------------------------===//
// linear_grad_weight
//===----------------------------------------------------------------------===//

LogicalResult LinearGradWeightOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), grad = tensorType(op.getGrad());
  if (failed(checkRankAtLeast<LinearGradWeightOp>(location, "input", input, 2, "[..., in]")) ||
      failed(checkRank<LinearGradWeightOp>(location, "grad", grad, input.getRank(), "[..., out]")) ||
      failed(checkSameElementType<LinearGradWeightOp>(location, "input", input, "grad", grad)))
    return failure();
  if (input.getShape().drop_back() != grad.getShape().drop_back())
    return inferError<LinearGradWeightOp>(
        location, "expected input and grad with equal leading dimensions, found ", input, " and ", grad);
  int64_t in = input.getShape().back(), out = grad.getShape().back();
  SmallVector<int64_t> shape =
      op.getTransposeWeight() ? SmallVector<int64_t>{out, in} : SmallVector<int64_t>{in, out};
  types.push_back(RankedTensorType::get(shape, input.getElementType()));
  return success();
}

ShardingRule LinearGradWeightOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows =
      addRowFactors(rule, getInput().getType().getShape().drop_back(), FactorKind::ReductionSum);
  int in = rule.addFactor("in", getInput().getType().getShape().back());
  int out = rule.addFactor("out", getGrad().getType().getShape().back());
  rule.operands = {withFactor(rows, in), withFactor(rows, out)};
  rule.results.push_back(getTransposeWeight() ? ValueFactors{{out}, {in}} : ValueFactors{{in}, {out}});
  return rule;
}

OpCost LinearGradWeightOp::getCost() {
  return withFlops(streamingCost(*this),
                   2 * elements(getInput()) * static_cast<double>(getGrad().getType().getShape().back()));
}

LibraryCall LinearGradWeightOp::getLibraryCall() {
  LibraryCall call = matmulCall();
  int64_t rank = getInput().getType().getRank();
  // x^T dy, or its transpose dy^T x: the result is dense either way.
  unsigned left = getTransposeWeight() ? 1 : 0;
  call.operands.push_back({left, flattenRowsTransposed(rank)});
  call.operands.push_back({1 - left, flattenRows(rank)});
  call.operands.push_back({2, matrixView(2, /*transpose=*/false)});
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
