//===- Attention.cpp - scaled dot-product attention -----------------------===//

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"
#include <cmath>

using namespace mlir;
using namespace pdc::nn;

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType query = tensorType(op.getQuery()), key = tensorType(op.getKey()),
                   value = tensorType(op.getValue());
  if (failed(checkRank<AttentionOp>(location, "query", query, 4, "[b, tq, heads, d]")) ||
      failed(checkRank<AttentionOp>(location, "key", key, 4, "[b, tk, heads, d]")) ||
      failed(checkRank<AttentionOp>(location, "value", value, 4, "[b, tk, heads, e]")) ||
      failed(checkSameElementType<AttentionOp>(location, "query", query, "key", key)) ||
      failed(checkSameElementType<AttentionOp>(location, "query", query, "value", value)))
    return failure();
  for (auto [name, type] : {std::pair(StringRef("query"), query), {"key", key}, {"value", value}})
    if (failed(checkStaticButBatch<AttentionOp>(location, name, type)))
      return failure();
  if (key.getDimSize(0) != query.getDimSize(0) || value.getDimSize(0) != query.getDimSize(0))
    return inferError<AttentionOp>(location, "expected query, key and value with one batch b, found ", query,
                                   ", ", key, " and ", value);
  if (key.getDimSize(2) != query.getDimSize(2) || value.getDimSize(2) != query.getDimSize(2))
    return inferError<AttentionOp>(location,
                                   "expected query, key and value with equally many heads (dimension 2), "
                                   "found ",
                                   query, ", ", key, " and ", value);
  if (key.getDimSize(3) != query.getDimSize(3))
    return inferError<AttentionOp>(
        location, "expected query and key with one head width d (dimension 3), found ", query, " and ", key);
  if (key.getDimSize(1) != value.getDimSize(1))
    return inferError<AttentionOp>(location, "expected key and value of one length tk (dimension 1), found ",
                                   key, " and ", value);
  if (op.getCausal() && key.getDimSize(1) < query.getDimSize(1))
    return inferError<AttentionOp>(location, "expected at least as many keys as queries for `causal`, found ",
                                   query, " and ", key);
  SmallVector<int64_t> shape(query.getShape());
  shape[3] = value.getDimSize(3);
  types.push_back(RankedTensorType::get(shape, query.getElementType()));
  return success();
}

ShardingRule AttentionOp::getShardingRule() {
  ShardingRule rule;
  RankedTensorType query = getQuery().getType(), key = getKey().getType();
  int b = rule.addFactor("batch", query.getDimSize(0));
  // A causal mask depends on the position of the query.
  int tq = rule.addFactor("queries", query.getDimSize(1),
                          getCausal() ? FactorKind::Decomposed : FactorKind::Parallel);
  int tk = rule.addFactor("keys", key.getDimSize(1), FactorKind::Decomposed);
  int heads = rule.addFactor("heads", query.getDimSize(2));
  int d = rule.addFactor("d", query.getDimSize(3), FactorKind::Decomposed);
  int e = rule.addFactor("e", getType().getDimSize(3));
  rule.operands = {{{b}, {tq}, {heads}, {d}}, {{b}, {tk}, {heads}, {d}}, {{b}, {tk}, {heads}, {e}}};
  rule.results = {{{b}, {tq}, {heads}, {e}}};
  return rule;
}

OpCost AttentionOp::getCost() {
  RankedTensorType query = getQuery().getType();
  double tk = static_cast<double>(getKey().getType().getDimSize(1)),
         d = static_cast<double>(query.getDimSize(3));
  double scores = elements(getQuery()) / d * tk; // b * heads * tq * tk
  double e = static_cast<double>(getType().getDimSize(3));
  OpCost cost = withFlops(streamingCost(*this), 2 * scores * (d + e) + 6 * scores);
  // Scores and probabilities.
  cost.bytesTemporary = 2 * scores * query.getElementTypeBitWidth() / 8;
  return cost;
}

FailureOr<SmallVector<Value>> AttentionOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  // [b, t, heads, d] <-> [b, heads, t, d]: only views, matmul takes them as they lie.
  static constexpr int64_t headsFirst[] = {0, 2, 1, 3};
  Value query = w.transpose(getQuery(), headsFirst), key = w.transpose(getKey(), headsFirst),
        value = w.transpose(getValue(), headsFirst);
  Value scores =
      BatchMatmulOp::create(builder, getLoc(), query, key, /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  double width = static_cast<double>(getQuery().getType().getDimSize(3));
  double scale = getScale() ? getScale()->convertToDouble() : 1 / std::sqrt(width);
  Value probabilities = SoftmaxOp::create(builder, getLoc(), scores, APFloat(scale), getCausal());
  Value result = BatchMatmulOp::create(builder, getLoc(), probabilities, value);
  return SmallVector<Value>{w.transpose(result, headsFirst)};
}
