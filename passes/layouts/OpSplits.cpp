//===- OpSplits.cpp - every way to split an op over a mesh ----------------===//

#include "passes/layouts/OpSplits.h"
#include "dialects/nn/Interfaces/LinearOpInterface.h"
#include "mlir/IR/Builders.h"
#include "passes/layouts/Windows.h"

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

//===----------------------------------------------------------------------===//
// The splits of an op
//===----------------------------------------------------------------------===//

static OpSplit unsplit(Operation *op) {
  OpSplit whole;
  auto replicated = [&](Value value) {
    return LayoutAttr::getReplicated(op->getContext(), cast<RankedTensorType>(value.getType()).getRank());
  };
  llvm::append_range(whole.layouts.operands, llvm::map_range(op->getOperands(), replicated));
  llvm::append_range(whole.layouts.results, llvm::map_range(op->getResults(), replicated));
  return whole;
}

namespace {

/// The splits of one op.
class SplitEnumeration {
public:
  SplitEnumeration(nn::ShardableOpInterface op, dist::MeshOp mesh)
      : op(op), mesh(mesh), rule(op.getShardingRule()),
        hasParts(isa<nn::DecomposableOpInterface>(op.getOperation())) {}

  SmallVector<OpSplit> run() {
    auto accepts = [&](size_t factor, int64_t parts) {
      return canBeSplit(rule.factors[factor]) && rule.factors[factor].size >= parts;
    };
    Assignment(mesh, rule.factors.size()).run(accepts, [&](const FactorAxes &factorAxes) {
      add(factorAxes);
    });
    return std::move(splits);
  }

private:
  bool canBeSplit(const nn::Factor &factor) {
    return factor.kind != nn::FactorKind::Replicated &&
           (factor.kind != nn::FactorKind::Decomposed || hasParts);
  }

  void add(const FactorAxes &factorAxes) {
    if (!inOrder(factorAxes))
      return;
    auto layouts = layoutsOfSplit(op->getContext(), rule, factorAxes, mesh);
    if (!layouts)
      return;
    OpSplit split{factorAxes, std::move(*layouts), {}, {}, false};
    for (auto [factor, axes] : llvm::zip(rule.factors, factorAxes))
      split.isThroughParts |= factor.kind == nn::FactorKind::Decomposed && !axes.empty();
    if (split.isThroughParts && failed(describeParts(split)))
      return;
    if (!everyPartHasElements(split.layouts))
      return;
    for (auto [index, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == nn::FactorKind::Halo && !factorAxes[index].empty())
        split.halos.push_back(
            {axisNames(factorAxes[index], mesh), bytesOfHalo(op, index, split.layouts, mesh)});
    splits.push_back(std::move(split));
  }

  /// Windows along two dimensions: see enumerateSplits.
  bool inOrder(const FactorAxes &factorAxes) {
    if (!windowsAreAlike)
      windowsAreAlike = findWindowsAlike();
    int64_t last = -1;
    bool earlierIsWhole = false;
    for (auto [factor, axes] : llvm::zip(rule.factors, factorAxes)) {
      if (factor.kind != nn::FactorKind::Halo || !*windowsAreAlike)
        continue;
      if (!axes.empty() && (earlierIsWhole || axes.front() < last))
        return false;
      earlierIsWhole |= axes.empty();
      last = axes.empty() ? last : axes.back();
    }
    return true;
  }

  /// Whether it moves as much to split one dimension of the windows as another.
  bool findWindowsAlike() {
    auto axis = llvm::find_if(mesh.getAxisSizes(), [](int64_t size) { return size > 1; });
    std::optional<int64_t> bytes, size;
    for (auto [index, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind != nn::FactorKind::Halo || axis == mesh.getAxisSizes().end())
        continue;
      FactorAxes only(rule.factors.size());
      only[index].push_back(axis - mesh.getAxisSizes().begin());
      auto layouts = layoutsOfSplit(op->getContext(), rule, only, mesh);
      if (!layouts || factor.size < *axis || !everyPartHasElements(*layouts))
        return false;
      int64_t own = bytesOfHalo(op, index, *layouts, mesh);
      if ((bytes && *bytes != own) || (size && *size != factor.size))
        return false;
      bytes = own;
      size = factor.size;
    }
    return true;
  }

  LogicalResult describeParts(OpSplit &split) {
    ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
    OpLayouts wanted{split.layouts.operands, {}};
    wanted.results.resize(op->getNumResults());
    FailureOr<SplitParts> parts = describeSplitByParts(op, wanted, mesh);
    if (failed(parts))
      return failure();
    split.layouts.results = parts->results;
    split.reductions = std::move(parts->reductions);
    return success();
  }

  bool everyPartHasElements(const OpLayouts &layouts) {
    auto enough = [&](auto values, ArrayRef<LayoutAttr> of) {
      return llvm::all_of(llvm::zip(values, of), [&](auto pair) {
        auto [value, layout] = pair;
        for (int64_t d = 0; d < layout.getRank(); ++d)
          if (layout.isSplit(d) &&
              cast<RankedTensorType>(value.getType()).getDimSize(d) / layout.getBlocks()[d] <
                  mesh.getParts(layout.getAxes(d)))
            return false;
        return true;
      });
    };
    return enough(op->getOperands(), layouts.operands) && enough(op->getResults(), layouts.results);
  }

  nn::ShardableOpInterface op;
  dist::MeshOp mesh;
  nn::ShardingRule rule;
  bool hasParts;
  std::optional<bool> windowsAreAlike;
  SmallVector<OpSplit> splits;
};

} // namespace

SmallVector<OpSplit> passes::enumerateSplits(Operation *op, dist::MeshOp mesh) {
  if (auto shardable = dyn_cast<nn::ShardableOpInterface>(op))
    return SplitEnumeration(shardable, mesh).run();
  SmallVector<OpSplit> splits;
  splits.push_back(unsplit(op));
  return splits;
}

//===----------------------------------------------------------------------===//
// Partial sums
//===----------------------------------------------------------------------===//

bool passes::canLeaveSum(Operation *op) {
  auto shardable = dyn_cast_or_null<nn::ShardableOpInterface>(op);
  if (!shardable || op->getNumResults() != 1)
    return false;
  nn::ShardingRule rule = shardable.getShardingRule();
  return llvm::any_of(llvm::enumerate(rule.factors), [&](auto pair) {
    auto [index, factor] = pair;
    bool present = llvm::any_of(rule.results.front(), [&, index = index](const nn::DimFactors &dim) {
      return llvm::is_contained(dim, static_cast<int>(index));
    });
    return factor.size > 1 && !present &&
           (factor.kind == nn::FactorKind::ReductionSum || factor.kind == nn::FactorKind::Parallel);
  });
}

void passes::addSplitsOfSums(Operation *op, dist::MeshOp mesh, SmallVectorImpl<OpSplit> &splits) {
  auto linear = dyn_cast<nn::LinearOpInterface>(op);
  if (!linear || !linear.isLinearIn(llvm::SmallBitVector(op->getNumOperands(), true)))
    return;
  int64_t numAxes = static_cast<int64_t>(mesh.getAxisSizes().size());
  for (size_t i = 0, end = splits.size(); i < end; ++i) {
    SmallVector<int64_t> unused;
    for (int64_t axis = 0; axis < numAxes; ++axis)
      if (mesh.getAxisSizes()[axis] > 1 && llvm::none_of(splits[i].factorAxes, [&](ArrayRef<int64_t> axes) {
            return llvm::is_contained(axes, axis);
          }))
        unused.push_back(axis);
    for (size_t subset = 1; subset < size_t{1} << unused.size(); ++subset) {
      SmallVector<int64_t> axes;
      for (auto [bit, axis] : llvm::enumerate(unused))
        if (subset >> bit & 1)
          axes.push_back(axis);
      OpSplit sums = splits[i];
      for (SmallVector<LayoutAttr> *layouts : {&sums.layouts.operands, &sums.layouts.results})
        for (LayoutAttr &layout : *layouts)
          layout = layout.withPartial(/*isMax=*/false, axisNames(axes, mesh));
      splits.push_back(std::move(sums));
    }
  }
}

//===----------------------------------------------------------------------===//
// The layouts of a value
//===----------------------------------------------------------------------===//

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
