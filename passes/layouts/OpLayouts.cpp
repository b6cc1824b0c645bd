//===- OpLayouts.cpp - layouts of an op's values, by its sharding rule ----===//

#include "passes/layouts/OpLayouts.h"
#include "dialects/nn/Interfaces/LinearOpInterface.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

namespace {

class Completion {
public:
  Completion(nn::ShardableOpInterface op, SplitMode mode)
      : op(op), mode(mode), rule(op.getShardingRule()), splits(rule.factors.size()) {}

  FailureOr<SmallVector<FactorSplit>> read(const OpLayouts &known) {
    for (auto [index, layout] : llvm::enumerate(known.operands))
      if (failed(readFactors(layout, rule.operands[index], "operand", index)))
        return failure();
    for (auto [index, layout] : llvm::enumerate(known.results))
      if (failed(readFactors(layout, rule.results[index], "result", index)))
        return failure();
    if (failed(readPartial(known)) || failed(checkFactors()))
      return failure();
    return splits;
  }

  FailureOr<OpLayouts> run(const OpLayouts &known) {
    if (failed(read(known)))
      return failure();
    OpLayouts all;
    for (auto [index, factors] : llvm::enumerate(rule.operands)) {
      FailureOr<LayoutAttr> layout = layoutOf(factors, "operand", index);
      if (failed(layout))
        return failure();
      bool isTerm = index < terms.size() && terms.test(index);
      all.operands.push_back(isTerm ? layout->withPartial(/*isMax=*/false, termAxes) : *layout);
    }
    for (auto [index, factors] : llvm::enumerate(rule.results)) {
      FailureOr<LayoutAttr> layout = layoutOf(factors, "result", index);
      if (failed(layout))
        return failure();
      all.results.push_back(addPartial(*layout, factors));
    }
    return all;
  }

private:
  /// The factors of a dimension that are not of size one.
  SmallVector<int> proper(const nn::DimFactors &factors) {
    SmallVector<int> kept;
    llvm::copy_if(factors, std::back_inserter(kept), [&](int f) { return rule.factors[f].size != 1; });
    return kept;
  }

  int64_t sizeOfInner(ArrayRef<int> factors) {
    int64_t size = 1;
    for (int factor : factors.drop_front())
      size *= rule.factors[factor].size;
    return size;
  }

  LogicalResult readFactors(LayoutAttr layout, const nn::ValueFactors &dims, StringRef what, size_t index) {
    if (!layout)
      return success();
    for (auto [d, factors] : llvm::enumerate(dims)) {
      if (!layout.isSplit(d))
        continue;
      SmallVector<int> of = proper(factors);
      if (of.empty())
        return op.emitOpError() << what << " " << index << " is split along dimension " << d
                                << ", which has size one";
      int64_t inner = sizeOfInner(of);
      int64_t block = layout.getBlocks()[d];
      if (block % inner != 0)
        return op.emitOpError() << what << " " << index << " is split along dimension " << d
                                << " in blocks of " << block << ", but its parts must be whole multiples of "
                                << inner << ": reshard it before";
      FactorSplit split{layout.getAxes(d), block / inner};
      FactorSplit &known = splits[of.front()];
      if (known && (known.axes != split.axes || known.block != split.block))
        return op.emitOpError() << "has values that split its loop '" << rule.factors[of.front()].name
                                << "' differently: over " << known.axes << " by " << known.block
                                << " and over " << split.axes << " by " << split.block
                                << "; reshard one of them before";
      known = split;
    }
    return success();
  }

  /// Operands that are partial sums: the op must be linear in them.
  LogicalResult readPartial(const OpLayouts &known) {
    terms.resize(op->getNumOperands());
    unsigned last = 0;
    for (auto [index, layout] : llvm::enumerate(known.operands)) {
      if (!layout || !layout.isPartial())
        continue;
      if (terms.any() && layout.getSum() != termAxes)
        return op.emitOpError() << "operand " << index << " is a partial sum over " << layout.getSum()
                                << ", operand " << last << " over " << termAxes
                                << "; reshard one of them before";
      if (!layout.getMax().empty())
        return op.emitOpError() << "operand " << index << " is a partial result, " << layout
                                << "; reshard it before it is used";
      termAxes = layout.getSum();
      terms.set(index);
      last = index;
    }
    auto linear = dyn_cast<nn::LinearOpInterface>(op.getOperation());
    if (terms.none() || (linear && linear.isLinearIn(terms)))
      return success();
    return op.emitOpError() << "operand " << last << " is a partial result, " << known.operands[last]
                            << ", in which it is not linear; reshard it before it is used";
  }

  LogicalResult checkFactors() {
    llvm::StringMap<StringRef> user;
    if (termAxes)
      for (StringRef axis : termAxes.getAsValueRange<StringAttr>())
        user[axis] = "sum of its operands";
    for (auto [factor, split] : llvm::zip(rule.factors, splits)) {
      if (!split)
        continue;
      if (factor.kind == nn::FactorKind::Replicated ||
          (factor.kind == nn::FactorKind::Decomposed && mode == SplitMode::AsAWhole))
        return op.emitOpError() << "cannot be split along its loop '" << factor.name << "' over "
                                << split.axes
                                << (factor.kind == nn::FactorKind::Decomposed
                                        ? " as a whole: split the ops that it decomposes into"
                                        : ": it needs the whole of it");
      // Values that share a factor of windows differ in size along it.
      if (factor.kind == nn::FactorKind::Halo && split.block != 1)
        return op.emitOpError() << "has windows along its loop '" << factor.name
                                << "', which is split in blocks of " << split.block
                                << "; reshard it to blocks of 1 before";
      for (StringRef axis : split.axes.getAsValueRange<StringAttr>())
        if (auto [entry, inserted] = user.try_emplace(axis, factor.name); !inserted)
          return op.emitOpError() << "would split both its loops '" << entry->second << "' and '"
                                  << factor.name << "' over axis \"" << axis
                                  << "\"; reshard an operand before";
    }
    return success();
  }

  FailureOr<LayoutAttr> layoutOf(const nn::ValueFactors &dims, StringRef what, size_t index) {
    Builder b(op.getContext());
    ArrayAttr none = b.getArrayAttr({});
    SmallVector<Attribute> axes(dims.size(), none);
    SmallVector<int64_t> blocks(dims.size(), 1);
    for (auto [d, factors] : llvm::enumerate(dims)) {
      SmallVector<int> of = proper(factors);
      for (auto [position, factor] : llvm::enumerate(of)) {
        if (!splits[factor])
          continue;
        if (position != 0)
          return op.emitOpError() << "would split " << what << " " << index << " along dimension " << d
                                  << " into parts that are not contiguous: its loop '"
                                  << rule.factors[factor].name << "' lies inside of '"
                                  << rule.factors[of.front()].name << "'";
        axes[d] = splits[factor].axes;
        blocks[d] = splits[factor].block * sizeOfInner(of);
      }
    }
    return LayoutAttr::get(op.getContext(), b.getArrayAttr(axes), b.getDenseI64ArrayAttr(blocks), none, none);
  }

  LayoutAttr addPartial(LayoutAttr layout, const nn::ValueFactors &dims) {
    SmallVector<Attribute> partial[2];
    for (auto [index, factor] : llvm::enumerate(rule.factors)) {
      bool present = llvm::any_of(
          dims, [&](const nn::DimFactors &f) { return llvm::is_contained(f, static_cast<int>(index)); });
      if (splits[index] && !present)
        llvm::append_range(partial[factor.kind == nn::FactorKind::ReductionMax], splits[index].axes);
    }
    if (termAxes)
      llvm::append_range(partial[0], termAxes);
    Builder b(op.getContext());
    return LayoutAttr::get(op.getContext(), layout.getDims(), layout.getBlocks(), b.getArrayAttr(partial[0]),
                           b.getArrayAttr(partial[1]));
  }

  nn::ShardableOpInterface op;
  SplitMode mode;
  nn::ShardingRule rule;
  SmallVector<FactorSplit> splits;
  llvm::SmallBitVector terms; // operands that are partial sums
  ArrayAttr termAxes;         // over these axes; null where there are none
};

} // namespace

LayoutAttr passes::withoutPartial(LayoutAttr layout) {
  auto none = ArrayAttr::get(layout.getContext(), {});
  return LayoutAttr::get(layout.getContext(), layout.getDims(), layout.getBlocks(), none, none);
}

FailureOr<OpLayouts> passes::completeLayouts(nn::ShardableOpInterface op, const OpLayouts &known,
                                             SplitMode mode) {
  return Completion(op, mode).run(known);
}

FailureOr<SmallVector<FactorSplit>> passes::splitsOfFactors(nn::ShardableOpInterface op,
                                                            const OpLayouts &known, SplitMode mode) {
  return Completion(op, mode).read(known);
}
