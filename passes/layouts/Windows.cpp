//===- Windows.cpp - parts of windows and their neighbours ----------------===//

#include "passes/layouts/Windows.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

int64_t passes::dimensionOfFactor(const nn::ValueFactors &value, unsigned factor) {
  for (auto [dim, factors] : llvm::enumerate(value))
    if (llvm::is_contained(factors, static_cast<int>(factor)))
      return dim;
  return -1;
}

nn::HaloPart passes::partOfWindows(nn::ShardableOpInterface op, const nn::ShardingRule &rule, unsigned factor,
                                   int64_t parts, int64_t part) {
  auto interval = [&](Value value, const nn::ValueFactors &factors) -> nn::Interval {
    int64_t dim = dimensionOfFactor(factors, factor);
    if (dim < 0)
      return {};
    int64_t size = cast<RankedTensorType>(value.getType()).getDimSize(dim);
    int64_t begin = dist::shardStart(size, 1, parts, part);
    return {begin, begin + dist::shardSize(size, 1, parts, part)};
  };
  nn::HaloPart all;
  for (auto [operand, factors] : llvm::zip_equal(op->getOperands(), rule.operands))
    all.operands.push_back(interval(operand, factors));
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    all.results.push_back(interval(result, factors));
  return all;
}

/// Bytes of the largest part of the value, one element long along `dim`.
static int64_t bytesOfLine(Value value, LayoutAttr layout, int64_t dim, dist::MeshOp mesh) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t bytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (static_cast<int64_t>(d) != dim)
      bytes *= layout.isSplit(d)
                   ? dist::shardSize(size, layout.getBlocks()[d], mesh.getParts(layout.getAxes(d)), 0)
                   : size;
  return bytes;
}

int64_t passes::bytesOfHalo(nn::ShardableOpInterface op, unsigned factor, const OpLayouts &layouts,
                            dist::MeshOp mesh) {
  nn::ShardingRule rule = op.getShardingRule();
  int64_t parts = 1;
  SmallVector<int64_t> lineBytes;
  for (auto [operand, factors, layout] :
       llvm::zip_equal(op->getOperands(), rule.operands, layouts.operands)) {
    int64_t dim = dimensionOfFactor(factors, factor);
    lineBytes.push_back(dim < 0 ? 0 : bytesOfLine(operand, layout, dim, mesh));
    if (dim >= 0)
      parts = mesh.getParts(layout.getAxes(dim));
  }
  int64_t most = 0;
  for (int64_t part = 0; part < parts; ++part) {
    nn::HaloPart held = partOfWindows(op, rule, factor, parts, part);
    int64_t bytes = 0;
    for (auto [has, needs, line] : llvm::zip_equal(held.operands, op.getHalo(factor, held), lineBytes)) {
      int64_t kept = std::max<int64_t>(0, std::min(has.end, needs.end) - std::max(has.begin, needs.begin));
      bytes += (needs.size() - kept) * line;
    }
    most = std::max(most, bytes);
  }
  return most;
}
