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
  if (!op.getStart() != !op.getVocabulary())
    return inferError<EmbeddingOp>(location, "expected `start` and `vocabulary` together, or neither");
  types.push_back(RankedTensorType::get(shape, table.getElementType()));
  return success();
}

LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                         SmallVectorImpl<Value> &operandGradients) {
  if (getStart())
    return emitOpError("of a part of a table has no gradient: it is differentiated before it is split");
  operandGradients.push_back(EmbeddingGradOp::create(builder, getLoc(), getTable().getType(),
                                                     resultGradients.front(), getIds(), /*start=*/Value(),
                                                     /*vocabulary=*/IntegerAttr()));
  operandGradients.push_back(Value());
  return success();
}

ShardingRule EmbeddingOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getIds().getType().getShape());
  int d = rule.addFactor("d", getTable().getType().getDimSize(1));
  // Vocabulary-parallel (Shoeybi et al. 2019, "Megatron-LM", section 3): a part of the table gives zeros for
  // the ids of others.
  int v = rule.addFactor("vocab", getTable().getType().getDimSize(0), FactorKind::ReductionSum,
                         /*needsStart=*/true);
  rule.operands = {{{v}, {d}}, rows};
  rule.results = {withFactor(rows, d)};
  if (getStart())
    rule.operands.emplace_back();
  return rule;
}

/// The rows' start of a part of a table, for ops whose last factor is the vocabulary. A part that was split
/// already would have two.
template <typename OpT>
static FailureOr<std::pair<Value, IntegerAttr>> partOfTable(OpT op, OpBuilder &builder, const LocalPart &part,
                                                            int64_t rows) {
  Value start = part.starts.back();
  if (!op.getStart())
    return std::pair(start, start ? builder.getI64IntegerAttr(rows) : IntegerAttr());
  if (start)
    return op.emitOpError("is a part of a table, and is split again along its rows");
  return std::pair(part.operands[2], op.getVocabularyAttr());
}

SmallVector<Value> EmbeddingOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  auto place = partOfTable(*this, builder, part, getTable().getType().getDimSize(0));
  if (failed(place))
    return {};
  return {EmbeddingOp::create(builder, getLoc(), part.resultTypes.front(), part.operands[0], part.operands[1],
                              place->first, place->second)};
}

std::optional<IdRange> EmbeddingOp::getIdRange(unsigned operand) {
  if (operand != 1)
    return std::nullopt;
  // A part of a table has fewer rows than there are ids.
  int64_t rows = tensorType(getTable()).getDimSize(0);
  return IdRange{static_cast<int64_t>(getVocabulary().value_or(rows)), std::nullopt};
}

OpCost EmbeddingOp::getCost() {
  OpCost cost = streamingCost(*this);
  // It reads the ids and the rows they name, not the table.
  double idBytes = elements(getIds()) * getIds().getType().getElementTypeBitWidth() / 8;
  cost.bytesRead = idBytes + cost.bytesWritten;
  return cost;
}

static void addVocabulary(LibraryCall &call, std::optional<uint64_t> vocabulary) {
  if (vocabulary)
    call.integers.push_back({"vocabulary", {static_cast<int64_t>(*vocabulary)}});
}

LibraryCall EmbeddingOp::getLibraryCall() {
  LibraryCall call;
  call.name = "embedding";
  addVocabulary(call, getVocabulary());
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
  if (!getStart() != !getVocabulary())
    return emitOpError("expected `start` and `vocabulary` together, or neither");
  return success();
}

ShardingRule EmbeddingGradOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getIds().getType().getShape(), FactorKind::ReductionSum);
  int d = rule.addFactor("d", getType().getDimSize(1));
  int v = rule.addFactor("vocab", getType().getDimSize(0), FactorKind::Parallel, /*needsStart=*/true);
  rule.operands = {withFactor(rows, d), rows};
  rule.results = {{{v}, {d}}};
  if (getStart())
    rule.operands.emplace_back();
  return rule;
}

SmallVector<Value> EmbeddingGradOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  auto place = partOfTable(*this, builder, part, getType().getDimSize(0));
  if (failed(place))
    return {};
  return {EmbeddingGradOp::create(builder, getLoc(), part.resultTypes.front(), part.operands[0],
                                  part.operands[1], place->first, place->second)};
}

OpCost EmbeddingGradOp::getCost() { return withFlops(streamingCost(*this), elements(getGrad())); }

LibraryCall EmbeddingGradOp::getLibraryCall() {
  LibraryCall call;
  call.name = "embedding_grad"; // clears the table itself
  addVocabulary(call, getVocabulary());
  return call;
}
