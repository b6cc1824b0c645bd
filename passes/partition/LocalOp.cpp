//===- LocalOp.cpp - one op on local shapes -------------------------------===//

#include "passes/partition/LocalOp.h"
#include "passes/layouts/Windows.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// How the op's factors are split; empty where an error was reported, which checkLayouts rules out.
static SmallVector<FactorSplit> factorSplits(nn::ShardableOpInterface op, const OpLayouts &layouts) {
  FailureOr<SmallVector<FactorSplit>> splits = splitsOfFactors(op, layouts);
  return succeeded(splits) ? *splits : SmallVector<FactorSplit>();
}

SmallVector<ArrayAttr> passes::axesOfWindows(nn::ShardableOpInterface op, const OpLayouts &layouts) {
  SmallVector<ArrayAttr> axes;
  nn::ShardingRule rule = op.getShardingRule();
  for (auto [factor, split] : llvm::zip(rule.factors, factorSplits(op, layouts)))
    if (split && factor.kind == nn::FactorKind::Halo)
      axes.push_back(split.axes);
  return axes;
}

static OpLayouts statedLayouts(Operation *op) {
  OpLayouts layouts;
  for (Value operand : op->getOperands())
    layouts.operands.push_back(dist::getLayout(operand));
  for (Value result : op->getResults())
    layouts.results.push_back(dist::getLayout(result));
  return layouts;
}

LocalOp::LocalOp(OpBuilder &b, nn::ShardableOpInterface op, dist::MeshOp mesh, int64_t rank)
    : LocalOp(b, op, mesh, rank, statedLayouts(op)) {}

LocalOp::LocalOp(OpBuilder &b, nn::ShardableOpInterface op, dist::MeshOp mesh, int64_t rank,
                 const OpLayouts &layouts)
    : b(b), op(op), mesh(mesh), rank(rank), rule(op.getShardingRule()), splits(factorSplits(op, layouts)) {}

SmallVector<Value> LocalOp::build(SmallVector<Value> operands, TypeRange types) {
  SmallVector<Value> starts(rule.factors.size());
  halos.resize(rule.factors.size());
  for (auto [index, factor, split] : llvm::enumerate(rule.factors, splits)) {
    if (!split)
      continue;
    if (factor.needsStart)
      starts[index] = shardStart(index);
    if (factor.kind == nn::FactorKind::Halo)
      exchange(index, operands);
  }
  return op.buildLocal(b, {operands, types, starts, halos});
}

Value LocalOp::shardStart(unsigned factor) {
  return dist::ShardStartOp::create(b, op.getLoc(), RankedTensorType::get({}, b.getI64Type()),
                                    FlatSymbolRefAttr::get(mesh), splits[factor].axes,
                                    b.getI64IntegerAttr(rule.factors[factor].size),
                                    b.getI64IntegerAttr(splits[factor].block));
}

void LocalOp::exchange(unsigned factor, SmallVectorImpl<Value> &operands) {
  ArrayAttr axes = splits[factor].axes;
  int64_t parts = mesh.getParts(axes), own = mesh.getPart(axes, rank);
  SmallVector<SmallVector<int64_t>> has(operands.size()), needs(operands.size());
  for (int64_t part = 0; part < parts; ++part) {
    nn::HaloPart held = partOfWindows(op, rule, factor, parts, part);
    SmallVector<nn::Interval> needed = op.getHalo(factor, held);
    for (auto [index, have, need] : llvm::enumerate(held.operands, needed)) {
      has[index].append({have.begin, have.end});
      needs[index].append({need.begin, need.end});
    }
    if (part == own) {
      halos[factor] = held;
      halos[factor].operands.assign(needed.begin(), needed.end());
    }
  }
  for (auto [index, operand] : llvm::enumerate(operands)) {
    int64_t dim = dimensionOfFactor(rule.operands[index], factor);
    if (dim < 0 || has[index] == needs[index])
      continue;
    auto type = cast<RankedTensorType>(operand.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = halos[factor].operands[index].size();
    operand = dist::HaloExchangeOp::create(
        b, op.getLoc(), type.clone(shape), FlatSymbolRefAttr::get(mesh), axes, operand,
        b.getI64IntegerAttr(dim), b.getDenseI64ArrayAttr(has[index]), b.getDenseI64ArrayAttr(needs[index]));
  }
}
