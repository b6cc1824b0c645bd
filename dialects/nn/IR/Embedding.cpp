//===- Embedding.cpp - embedding and its gradient -------------------------===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/IR/NNChecks.h"

using namespace mlir;
using namespace pdc::nn;

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                            SmallVectorImpl<Type> &types) {
  RankedTensorType table = tensorType(op.getTable()), ids = tensorType(op.getIds());
  if (failed(checkRank<EmbeddingOp>(location, "table", table, 2, "[v, d]")) ||
      failed(checkStaticButBatch<EmbeddingOp>(location, "ids", ids)))
    return failure();
  if (!table.hasStaticShape())
    return inferError<EmbeddingOp>(location, "expected a table [v, d] of static shape, found ", table);
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(table.getDimSize(1));
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  operandGradients.push_back(
      EmbeddingGradOp::create(builder, getLoc(), getTable().getType(), resultGradients.front(), getIds()));
  operandGradients.push_back(Value());
  return success();
}

ShardingRule EmbeddingOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getIds().getType().getShape());
  int d = rule.addFactor("d", getTable().getType().getDimSize(1));
  // A part of the table would have to know where it begins, and give zeros for the ids of others: the rows of
  // the table (the vocabulary) are not split.
  int v = rule.addFactor("vocab", getTable().getType().getDimSize(0), FactorKind::Replicated);
  rule.operands = {{{v}, {d}}, rows};
  rule.results = {withFactor(rows, d)};
  return rule;
}

OpCost EmbeddingOp::getCost() {
  OpCost cost = streamingCost(*this);
  // It reads the ids and the rows they name, not the table.
  double idBytes = elements(getIds()) * getIds().getType().getElementTypeBitWidth() / 8;
  cost.bytesRead = idBytes + cost.bytesWritten;
  return cost;
}

LibraryCall EmbeddingOp::getLibraryCall() {
  LibraryCall call;
  call.name = "embedding";
  return call;
}

LogicalResult EmbeddingGradOp::verify() {
  RankedTensorType grad = getGrad().getType(), ids = getIds().getType(), table = getType();
  if (grad.getRank() != ids.getRank() + 1 || grad.getShape().drop_back() != ids.getShape())
    return emitOpError("expected grad [..., d] with the leading dimensions of the ids ")
           << ids << ", found " << grad;
  if (table.getRank() != 2 || table.getDimSize(1) != grad.getShape().back() || !table.hasStaticShape() ||
      table.getElementType() != grad.getElementType())
    return emitOpError("expected a result [v, d] with d = ")
           << grad.getShape().back() << " and the element type of grad " << grad << ", found " << table;
  return success();
}

ShardingRule EmbeddingGradOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getIds().getType().getShape(), FactorKind::ReductionSum);
  int d = rule.addFactor("d", getType().getDimSize(1));
  int v = rule.addFactor("vocab", getType().getDimSize(0), FactorKind::Replicated);
  rule.operands = {withFactor(rows, d), rows};
  rule.results = {{{v}, {d}}};
  return rule;
}

OpCost EmbeddingGradOp::getCost() { return withFlops(streamingCost(*this), elements(getGrad())); }

LibraryCall EmbeddingGradOp::getLibraryCall() {
  LibraryCall call;
  call.name = "embedding_grad"; // clears the table itself
  return call;
}
