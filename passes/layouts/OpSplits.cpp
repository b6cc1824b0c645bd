//===- OpSplits.cpp - every way to split an op over a mesh ----------------===//

#include "passes/layouts/OpSplits.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

using FactorAxes = SmallVector<SmallVector<int64_t, 2>>;

static ArrayAttr axisNames(ArrayRef<int64_t> axes, dist::MeshOp mesh) {
  SmallVector<Attribute> names;
  for (int64_t axis : axes)
    names.push_back(mesh.getAxisNames()[axis]);
  return ArrayAttr::get(mesh.getContext(), names);
}

static int64_t partsOf(ArrayRef<int64_t> axes, dist::MeshOp mesh) {
  int64_t parts = 1;
  for (int64_t axis : axes)
    parts *= mesh.getAxisSizes()[axis];
  return parts;
}

namespace {

/// The layout of one value under a split of its op's factors.
class ValueLayout {
public:
  ValueLayout(const nn::ShardingRule &rule, ArrayRef<SmallVector<int64_t, 2>> factorAxes, dist::MeshOp mesh)
      : rule(rule), factorAxes(factorAxes), mesh(mesh) {}

  /// Null where parts would not be contiguous.
  LayoutAttr build(const nn::ValueFactors &dims, bool isResult) {
    Builder b(mesh.getContext());
    SmallVector<Attribute> axes(dims.size(), b.getArrayAttr({}));
    SmallVector<int64_t> blocks(dims.size(), 1);
    for (auto [d, factors] : llvm::enumerate(dims))
      if (!splitDimension(factors, axes[d], blocks[d]))
        return LayoutAttr();
    SmallVector<Attribute> partial[2];
    if (isResult)
      addPartial(dims, partial);
    return LayoutAttr::get(mesh.getContext(), b.getArrayAttr(axes), b.getDenseI64ArrayAttr(blocks),
                           b.getArrayAttr(partial[0]), b.getArrayAttr(partial[1]));
  }

private:
  bool splitDimension(const nn::DimFactors &factors, Attribute &axes, int64_t &block) {
    int64_t inner = 1;
    bool isMajor = true;
    for (int factor : factors)
      inner *= rule.factors[factor].size;
    for (int factor : factors) {
      if (rule.factors[factor].size == 1)
        continue;
      inner /= rule.factors[factor].size;
      if (!factorAxes[factor].empty()) {
        // Parts of a factor that lies inside of another one are not contiguous.
        if (!isMajor)
          return false;
        axes = axisNames(factorAxes[factor], mesh);
        block = inner;
      }
      isMajor = false;
    }
    return true;
  }

  void addPartial(const nn::ValueFactors &dims, SmallVector<Attribute> (&partial)[2]) {
    for (auto [index, factor] : llvm::enumerate(rule.factors)) {
      bool present = llvm::any_of(
          dims, [&](const nn::DimFactors &f) { return llvm::is_contained(f, static_cast<int>(index)); });
      if (!present && !factorAxes[index].empty())
        llvm::append_range(partial[factor.kind == nn::FactorKind::ReductionMax],
                           axisNames(factorAxes[index], mesh));
    }
  }

  const nn::ShardingRule &rule;
  ArrayRef<SmallVector<int64_t, 2>> factorAxes;
  dist::MeshOp mesh;
};

/// Gives each axis, one after the other, to each of its takers or to none.
class Assignment {
public:
  Assignment(dist::MeshOp mesh, size_t takers) : mesh(mesh), axes(takers) {}

  void run(function_ref<bool(size_t taker, int64_t parts)> accepts,
           function_ref<void(const FactorAxes &)> found, int64_t axis = 0) {
    if (axis == static_cast<int64_t>(mesh.getAxisSizes().size()))
      return found(axes);
    run(accepts, found, axis + 1);
    if (mesh.getAxisSizes()[axis] == 1)
      return;
    for (size_t taker = 0; taker < axes.size(); ++taker) {
      axes[taker].push_back(axis);
      if (accepts(taker, partsOf(axes[taker], mesh)))
        run(accepts, found, axis + 1);
      axes[taker].pop_back();
    }
  }

private:
  dist::MeshOp mesh;
  FactorAxes axes;
};

} // namespace

static bool canBeSplit(const nn::Factor &factor) {
  return factor.kind == nn::FactorKind::Parallel || factor.kind == nn::FactorKind::ReductionSum ||
         factor.kind == nn::FactorKind::ReductionMax;
}

std::optional<OpLayouts> passes::layoutsOfSplit(MLIRContext *context, const nn::ShardingRule &rule,
                                                ArrayRef<SmallVector<int64_t, 2>> factorAxes,
                                                dist::MeshOp mesh) {
  ValueLayout layout(rule, factorAxes, mesh);
  OpLayouts all;
  for (const nn::ValueFactors &dims : rule.operands)
    all.operands.push_back(layout.build(dims, /*isResult=*/false));
  for (const nn::ValueFactors &dims : rule.results)
    all.results.push_back(layout.build(dims, /*isResult=*/true));
  if (llvm::is_contained(all.operands, LayoutAttr()) || llvm::is_contained(all.results, LayoutAttr()))
    return std::nullopt;
  return all;
}

SmallVector<OpSplit> passes::enumerateSplits(Operation *op, dist::MeshOp mesh) {
  SmallVector<OpSplit> splits;
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable) {
    OpSplit whole;
    auto replicated = [&](Value value) {
      return LayoutAttr::getReplicated(op->getContext(), cast<RankedTensorType>(value.getType()).getRank());
    };
    llvm::append_range(whole.layouts.operands, llvm::map_range(op->getOperands(), replicated));
    llvm::append_range(whole.layouts.results, llvm::map_range(op->getResults(), replicated));
    splits.push_back(std::move(whole));
    return splits;
  }
  nn::ShardingRule rule = shardable.getShardingRule();
  auto accepts = [&](size_t factor, int64_t parts) {
    return canBeSplit(rule.factors[factor]) && rule.factors[factor].size >= parts;
  };
  Assignment(mesh, rule.factors.size()).run(accepts, [&](const FactorAxes &factorAxes) {
    if (auto layouts = layoutsOfSplit(op->getContext(), rule, factorAxes, mesh))
      splits.push_back({factorAxes, std::move(*layouts)});
  });
  return splits;
}

SmallVector<LayoutAttr> passes::enumerateLayouts(RankedTensorType type, dist::MeshOp mesh) {
  SmallVector<LayoutAttr> layouts;
  Builder b(type.getContext());
  auto accepts = [&](size_t dim, int64_t parts) { return type.getDimSize(dim) >= parts; };
  Assignment(mesh, type.getRank()).run(accepts, [&](const FactorAxes &dimAxes) {
    SmallVector<Attribute> axes;
    for (const auto &ofDim : dimAxes)
      axes.push_back(axisNames(ofDim, mesh));
    SmallVector<int64_t> blocks(type.getRank(), 1);
    layouts.push_back(LayoutAttr::get(type.getContext(), b.getArrayAttr(axes), b.getDenseI64ArrayAttr(blocks),
                                      b.getArrayAttr({}), b.getArrayAttr({})));
  });
  return layouts;
}

bool passes::holdSameElements(LayoutAttr a, LayoutAttr b, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
  if (a.getDims() != b.getDims() || a.getSum() != b.getSum() || a.getMax() != b.getMax())
    return false;
  for (auto [d, size] : llvm::enumerate(shape)) {
    int64_t blocks[] = {a.getBlocks()[d], b.getBlocks()[d]}, parts = mesh.getParts(a.getAxes(d));
    if (!a.isSplit(d) || blocks[0] == blocks[1])
      continue;
    if (size % blocks[0] != 0 || size % blocks[1] != 0)
      return false;
    for (int64_t part = 0; part < parts; ++part)
      if (dist::shardStart(size, blocks[0], parts, part) != dist::shardStart(size, blocks[1], parts, part))
        return false;
  }
  return true;
}
