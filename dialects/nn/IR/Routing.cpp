//===- Routing.cpp - experts: top_k, dispatch, combine --------------------===//

#include "dialects/nn/IR/BatchStatistics.h"
#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

/// Below every gate and still finite.
static constexpr double lowest = -3.0e38;

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location, Adaptor op,
                                       SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  if (failed(checkRankAtLeast<TopKOp>(location, "input", input, 1, "[..., n]")) ||
      failed(checkStaticButBatch<TopKOp>(location, "input", input)))
    return failure();
  int64_t n = input.getShape().back(), k = static_cast<int64_t>(op.getK());
  if (ShapedType::isDynamic(n) || k < 1 || k > n)
    return inferError<TopKOp>(location, "expected k from 1 to the size of the last dimension of ", input,
                              ", found k = ", k);
  // Indices are compared in f32, which holds integers up to 2^24.
  if (n > (1 << 24))
    return inferError<TopKOp>(location, "expected at most 16777216 elements in a row, found ", input);
  SmallVector<int64_t> shape(input.getShape());
  shape.back() = k;
  types.push_back(input.clone(shape));
  types.push_back(RankedTensorType::get(shape, IntegerType::get(context, 32)));
  return success();
}

LogicalResult TopKOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                    SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  if (!grad) {
    operandGradients.push_back(Value());
    return success();
  }
  // Each gradient to the place that its value came from: [..., k, 1] against the indices of [..., k, n].
  OpWriter w(builder, getLoc());
  RankedTensorType input = getInput().getType();
  SmallVector<int64_t> shape(tensorType(grad).getShape());
  shape.push_back(input.getShape().back());
  int64_t rank = static_cast<int64_t>(shape.size());
  Value place = IotaOp::create(builder, getLoc(), getIndices().getType().clone(shape), rank - 1,
                               /*start=*/Value());
  Value isPlace = w.compare(ComparePredicate::eq, place, w.asColumn(getIndices()));
  operandGradients.push_back(w.sum(w.select(isPlace, w.asColumn(grad), 0.0), {rank - 2}));
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  ShardingRule rule;
  ValueFactors rows = addRowFactors(rule, getInput().getType().getShape().drop_back());
  int n = rule.addFactor("n", getInput().getType().getShape().back(), FactorKind::Decomposed);
  int k = rule.addFactor("k", static_cast<int64_t>(getK()), FactorKind::Replicated);
  rule.operands = {withFactor(rows, n)};
  rule.results = {withFactor(rows, k), withFactor(rows, k)};
  return rule;
}

OpCost TopKOp::getCost() {
  return withFlops(streamingCost(*this), 4 * static_cast<double>(getK()) * elements(getInput()));
}

FailureOr<SmallVector<Value>> TopKOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  Value x = w.compute(getInput()), values, indices;
  Type element = tensorType(x).getElementType();
  int64_t last = tensorType(x).getRank() - 1;
  Value index = w.iota(x, last, element);
  auto chosen = getValues().getType().clone(element);
  for (int64_t i = 0; i < static_cast<int64_t>(getK()); ++i) {
    Value largest = w.rowMax(x);
    // The first of equal ones: the largest of the negated indices.
    Value first =
        w.neg(w.rowMax(w.select(w.compare(ComparePredicate::eq, x, largest), w.neg(index), lowest)));
    x = w.select(w.compare(ComparePredicate::ne, index, first), x, lowest);
    if (i == 0) {
      values = broadcastTo(builder, getLoc(), largest, chosen.getShape());
      indices = broadcastTo(builder, getLoc(), first, chosen.getShape());
      continue;
    }
    Value position = IotaOp::create(builder, getLoc(), chosen, last, /*start=*/Value());
    Value isLater = w.compare(ComparePredicate::ge, position, static_cast<double>(i));
    values = w.select(isLater, largest, values);
    indices = w.select(isLater, first, indices);
  }
  return SmallVector<Value>{w.cast(values, getValues().getType().getElementType()),
                            w.cast(indices, getIndices().getType().getElementType())};
}

//===----------------------------------------------------------------------===//
// expert_slots
//===----------------------------------------------------------------------===//

LogicalResult ExpertSlotsOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                              SmallVectorImpl<Type> &types) {
  RankedTensorType indices = tensorType(op.getIndices());
  if (failed(checkRank<ExpertSlotsOp>(location, "indices", indices, 3, "[g, s, k]")) ||
      failed(checkStaticButBatch<ExpertSlotsOp>(location, "indices", indices)))
    return failure();
  int64_t experts = static_cast<int64_t>(op.getExperts()), capacity = static_cast<int64_t>(op.getCapacity());
  if (experts < 1 || capacity < 1)
    return inferError<ExpertSlotsOp>(location,
                                     "expected at least one expert and a capacity of at least one, "
                                     "found experts = ",
                                     experts, " and capacity = ", capacity);
  types.push_back(indices);
  return success();
}

ShardingRule ExpertSlotsOp::getShardingRule() {
  ShardingRule rule;
  ArrayRef<int64_t> shape = getIndices().getType().getShape();
  int groups = rule.addFactor("groups", shape[0]);
  // A token's place depends on those of the tokens before it, of all choices.
  int tokens = rule.addFactor("tokens", shape[1], FactorKind::Replicated);
  int choices = rule.addFactor("choices", shape[2], FactorKind::Replicated);
  ValueFactors factors = {{groups}, {tokens}, {choices}};
  rule.operands = {factors};
  rule.results = {factors};
  return rule;
}

OpCost ExpertSlotsOp::getCost() { return streamingCost(*this); }

LibraryCall ExpertSlotsOp::getLibraryCall() {
  LibraryCall call;
  call.name = "expert_slots";
  call.integers = {{"experts", {static_cast<int64_t>(getExperts())}},
                   {"capacity", {static_cast<int64_t>(getCapacity())}}};
  return call;
}

//===----------------------------------------------------------------------===//
// dispatch and combine
//===----------------------------------------------------------------------===//

/// Fails unless `tokens` is [g, s, d], and `slots` and `gates` (unless null) are [g, s, k].
template <typename OpT>
static LogicalResult checkRouting(std::optional<Location> location, RankedTensorType tokens,
                                  RankedTensorType slots, RankedTensorType gates) {
  if (failed(checkRank<OpT>(location, "tokens", tokens, 3, "[g, s, d]")) ||
      failed(checkStaticButBatch<OpT>(location, "tokens", tokens)) ||
      failed(checkRank<OpT>(location, "slots", slots, 3, "[g, s, k]")))
    return failure();
  if (slots.getShape().take_front(2) != tokens.getShape().take_front(2))
    return inferError<OpT>(location, "expected slots [g, s, k] of the tokens [g, s, d] ", tokens, ", found ",
                           slots);
  if (gates && gates != slots.clone(tokens.getElementType()))
    return inferError<OpT>(location, "expected gates ", slots.clone(tokens.getElementType()),
                           ", one for each of the slots ", slots, ", found ", gates);
  return success();
}

/// Fails unless `rows` is [g, n, d] for the tokens [g, s, d].
template <typename OpT>
static LogicalResult checkRows(std::optional<Location> location, RankedTensorType rows,
                               RankedTensorType slots) {
  if (failed(checkRank<OpT>(location, "input", rows, 3, "[g, n, d]")) ||
      failed(checkStaticButBatch<OpT>(location, "input", rows)) ||
      failed(checkRank<OpT>(location, "slots", slots, 3, "[g, s, k]")))
    return failure();
  if (rows.getDimSize(0) != slots.getDimSize(0))
    return inferError<OpT>(location, "expected input [g, n, d] and slots [g, s, k] of as many groups, found ",
                           rows, " and ", slots);
  return success();
}

namespace {
/// The loops of dispatch, combine and their gradients. A part of the slots skips the tokens of others.
struct RoutingFactors {
  RoutingFactors(ShardingRule &rule, RankedTensorType tokens, RankedTensorType slots, int64_t rows)
      : rule(rule), groups(rule.addFactor("groups", tokens.getDimSize(0))),
        tokens(rule.addFactor("tokens", tokens.getDimSize(1))),
        choices(rule.addFactor("choices", slots.getDimSize(2))), d(rule.addFactor("d", tokens.getDimSize(2))),
        n(rule.addFactor("slots", rows, FactorKind::Parallel, /*needsStart=*/true)) {}
  void reduceOver(ArrayRef<int> factors) {
    for (int factor : factors)
      rule.factors[factor].kind = FactorKind::ReductionSum;
  }
  ValueFactors ofTokens() const { return {{groups}, {tokens}, {d}}; }
  ValueFactors ofRows() const { return {{groups}, {n}, {d}}; }
  ValueFactors ofChoices() const { return {{groups}, {tokens}, {choices}}; }

  ShardingRule &rule;
  int groups, tokens, choices, d, n;
};
} // namespace

/// Where a part of the slots begins: `given`, if this is such a part already, moved by what the split adds.
static Value slotStart(OpBuilder &builder, Location loc, Value given, const LocalPart &part) {
  Value own = part.starts.back(); // the slots are the last factor
  return given && own ? Value(AddOp::create(builder, loc, given, own)) : given ? given : own;
}

/// Ones for each of the slots.
static Value ones(OpBuilder &builder, Location loc, Value slots, Value like) {
  return splatConstant(builder, loc, tensorType(slots).clone(tensorType(like).getElementType()), 1.0);
}

static LibraryCall routingCall(StringRef name) {
  LibraryCall call;
  call.name = name.str();
  return call;
}

LogicalResult DispatchOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                           SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput());
  if (failed(checkRouting<DispatchOp>(location, input, tensorType(op.getSlots()),
                                      op.getGates() ? tensorType(op.getGates()) : RankedTensorType())))
    return failure();
  int64_t count = static_cast<int64_t>(op.getCount());
  if (count < 1)
    return inferError<DispatchOp>(location, "expected at least one slot, found count = ", count);
  types.push_back(input.clone({input.getDimSize(0), count, input.getDimSize(2)}));
  return success();
}

LogicalResult DispatchOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                        SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  Value gates = getGates() ? Value(getGates()) : ones(builder, getLoc(), getSlots(), getInput());
  operandGradients.push_back(CombineOp::create(builder, getLoc(), grad, getSlots(), gates, getStart()));
  operandGradients.push_back(Value());
  if (getGates())
    operandGradients.push_back(
        CombineGradGatesOp::create(builder, getLoc(), getInput(), grad, getSlots(), getStart()));
  if (getStart())
    operandGradients.push_back(Value());
  return success();
}

ShardingRule DispatchOp::getShardingRule() {
  ShardingRule rule;
  RoutingFactors factors(rule, getInput().getType(), getSlots().getType(), static_cast<int64_t>(getCount()));
  factors.reduceOver({factors.tokens, factors.choices});
  rule.operands = {factors.ofTokens(), factors.ofChoices()};
  if (getGates())
    rule.operands.push_back(factors.ofChoices());
  if (getStart())
    rule.operands.emplace_back();
  rule.results = {factors.ofRows()};
  return rule;
}

SmallVector<Value> DispatchOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  Value gates = getGates() ? part.operands[2] : Value(), given = getStart() ? part.operands.back() : Value();
  return {DispatchOp::create(builder, getLoc(), part.operands[0], part.operands[1], gates,
                             slotStart(builder, getLoc(), given, part),
                             cast<RankedTensorType>(part.resultTypes.front()).getDimSize(1))};
}

OpCost DispatchOp::getCost() { return withFlops(streamingCost(*this), elements(getInput())); }

LibraryCall DispatchOp::getLibraryCall() {
  LibraryCall call = routingCall("dispatch"); // clears its result itself
  call.integers = {{"gates", {getGates() ? 1 : 0}}};
  return call;
}

LogicalResult CombineOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  RankedTensorType input = tensorType(op.getInput()), slots = tensorType(op.getSlots());
  if (failed(checkRows<CombineOp>(location, input, slots)))
    return failure();
  RankedTensorType tokens = input.clone({slots.getDimSize(0), slots.getDimSize(1), input.getDimSize(2)});
  if (failed(checkRouting<CombineOp>(location, tokens, slots, tensorType(op.getGates()))))
    return failure();
  types.push_back(tokens);
  return success();
}

LogicalResult CombineOp::buildGradient(OpBuilder &builder, ArrayRef<Value> resultGradients,
                                       SmallVectorImpl<Value> &operandGradients) {
  Value grad = resultGradients.front();
  operandGradients.push_back(DispatchOp::create(builder, getLoc(), grad, getSlots(), getGates(), getStart(),
                                                getInput().getType().getDimSize(1)));
  operandGradients.push_back(Value());
  operandGradients.push_back(
      CombineGradGatesOp::create(builder, getLoc(), grad, getInput(), getSlots(), getStart()));
  if (getStart())
    operandGradients.push_back(Value());
  return success();
}

ShardingRule CombineOp::getShardingRule() {
  ShardingRule rule;
  RoutingFactors factors(rule, getType(), getSlots().getType(), getInput().getType().getDimSize(1));
  factors.reduceOver({factors.choices, factors.n});
  rule.operands = {factors.ofRows(), factors.ofChoices(), factors.ofChoices()};
  if (getStart())
    rule.operands.emplace_back();
  rule.results = {factors.ofTokens()};
  return rule;
}

SmallVector<Value> CombineOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  Value given = getStart() ? part.operands.back() : Value();
  return {CombineOp::create(builder, getLoc(), part.operands[0], part.operands[1], part.operands[2],
                            slotStart(builder, getLoc(), given, part))};
}

OpCost CombineOp::getCost() {
  OpCost cost = withFlops(streamingCost(*this), 2 * elements(getResult()));
  cost.flops *= static_cast<double>(getSlots().getType().getDimSize(2));
  return cost;
}

LibraryCall CombineOp::getLibraryCall() { return routingCall("combine"); }

LogicalResult CombineGradGatesOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType grad = tensorType(op.getGrad()), input = tensorType(op.getInput()),
                   slots = tensorType(op.getSlots());
  if (failed(checkRouting<CombineGradGatesOp>(location, grad, slots, RankedTensorType())) ||
      failed(checkRows<CombineGradGatesOp>(location, input, slots)) ||
      failed(checkSameElementType<CombineGradGatesOp>(location, "grad", grad, "input", input)))
    return failure();
  if (grad.getDimSize(2) != input.getDimSize(2))
    return inferError<CombineGradGatesOp>(location, "expected grad and input of one width d, found ", grad,
                                          " and ", input);
  types.push_back(slots.clone(grad.getElementType()));
  return success();
}

ShardingRule CombineGradGatesOp::getShardingRule() {
  ShardingRule rule;
  RoutingFactors factors(rule, getGrad().getType(), getSlots().getType(), getInput().getType().getDimSize(1));
  factors.reduceOver({factors.d, factors.n});
  rule.operands = {factors.ofTokens(), factors.ofRows(), factors.ofChoices()};
  if (getStart())
    rule.operands.emplace_back();
  rule.results = {factors.ofChoices()};
  return rule;
}

SmallVector<Value> CombineGradGatesOp::buildLocal(OpBuilder &builder, const LocalPart &part) {
  Value given = getStart() ? part.operands.back() : Value();
  return {CombineGradGatesOp::create(builder, getLoc(), part.operands[0], part.operands[1], part.operands[2],
                                     slotStart(builder, getLoc(), given, part))};
}

OpCost CombineGradGatesOp::getCost() {
  return withFlops(streamingCost(*this),
                   2 * elements(getResult()) * static_cast<double>(getGrad().getType().getDimSize(2)));
}

LibraryCall CombineGradGatesOp::getLibraryCall() { return routingCall("combine_grad_gates"); }

//===----------------------------------------------------------------------===//
// load_balancing_loss
//===----------------------------------------------------------------------===//

LogicalResult LoadBalancingLossOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                    Adaptor op, SmallVectorImpl<Type> &types) {
  RankedTensorType gates = tensorType(op.getGates()), indices = tensorType(op.getIndices());
  if (failed(checkRankAtLeast<LoadBalancingLossOp>(location, "gates", gates, 2, "[..., n]")) ||
      failed(checkStaticButBatch<LoadBalancingLossOp>(location, "gates", gates)))
    return failure();
  if (indices.getRank() != gates.getRank() || indices.getShape().drop_back() != gates.getShape().drop_back())
    return inferError<LoadBalancingLossOp>(location, "expected indices [..., k] for the gates [..., n] ",
                                           gates, ", found ", indices);
  types.push_back(RankedTensorType::get({}, computeType(gates.getElementType())));
  return success();
}

ShardingRule LoadBalancingLossOp::getShardingRule() {
  // A product of means: the sums that it is made of can be split.
  ShardingRule rule;
  ValueFactors factors = addFactors(rule, getGates().getType(), "dim", FactorKind::Decomposed);
  ValueFactors indices(factors);
  int64_t k = getIndices().getType().getShape().back();
  indices.back() = {rule.addFactor("k", k, FactorKind::Replicated)};
  rule.operands = {factors, indices};
  rule.results.emplace_back();
  return rule;
}

OpCost LoadBalancingLossOp::getCost() { return withFlops(streamingCost(*this), 3 * elements(getGates())); }

FailureOr<SmallVector<Value>> LoadBalancingLossOp::decompose(OpBuilder &builder) {
  OpWriter w(builder, getLoc());
  RankedTensorType type = getGates().getType();
  if (!type.hasStaticShape())
    return emitOpError("expected a static batch, whose tokens are counted, found ")
           << type << "; give --batch=N";
  Value gates = w.compute(getGates()), first = getIndices();
  int64_t rank = type.getRank(), n = type.getShape().back();
  SmallVector<int64_t> offsets(rank, 0), sizes(getIndices().getType().getShape());
  if (sizes.back() != 1) {
    sizes.back() = 1;
    first = SliceOp::create(builder, getLoc(), first, offsets, sizes);
  }
  Value isFirst =
      w.compare(ComparePredicate::eq, w.iota(gates, rank - 1, tensorType(first).getElementType()), first);
  SmallVector<int64_t, 4> rows = leadingDims(rank - 1);
  Value chosen = w.sum(w.cast(isFirst, tensorType(gates).getElementType()), rows), mean = w.sum(gates, rows);
  for (Value sum : {chosen, mean})
    sum.getDefiningOp()->setAttr(kBatchStatisticsAttr, builder.getUnitAttr());
  double tokens = static_cast<double>(type.getNumElements() / n);
  Value loss = w.mul(w.sum(w.mul(chosen, mean), leadingDims(1)), static_cast<double>(n) / (tokens * tokens));
  return SmallVector<Value>{loss};
}
