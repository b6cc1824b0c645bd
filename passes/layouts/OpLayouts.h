//===- OpLayouts.h - layouts of an op's values, by its sharding rule -*- C++ -*-===//
//
// A split of an op is a split of its factors (dialects/nn/Interfaces/ShardingRule.h). Layouts of some of its
// values say which factors are split, and the factors say what the layouts of all of its values must be.
// Planners use this to carry layouts through a step, `partition` to check a plan.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_LAYOUTS_OPLAYOUTS_H
#define PDC_PASSES_LAYOUTS_OPLAYOUTS_H

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/Interfaces/NNInterfaces.h"

namespace pdc::passes {

/// Layouts of an op's operands and results. Null: not known.
struct OpLayouts {
  llvm::SmallVector<dist::LayoutAttr> operands;
  llvm::SmallVector<dist::LayoutAttr> results;
};

/// How a factor is split: over which axes, in blocks of how many of its elements. No axes: whole.
struct FactorSplit {
  mlir::ArrayAttr axes;
  int64_t block = 1;
  explicit operator bool() const { return axes && !axes.empty(); }
};

/// The same split of dimensions, nothing partial.
dist::LayoutAttr withoutPartial(dist::LayoutAttr layout);

/// Whether factors of kind Decomposed may be split: those of the op itself may not, but splitByParts lays out
/// its operands by its rule.
enum class SplitMode { AsAWhole, ThroughParts };

/// How the known layouts split the op's factors, one entry per factor. Emits an error on the op where they
/// disagree, or a factor cannot be split.
mlir::FailureOr<llvm::SmallVector<FactorSplit>>
splitsOfFactors(nn::ShardableOpInterface op, const OpLayouts &known, SplitMode mode = SplitMode::AsAWhole);

/// The layouts that all values of the op must have so that it runs on local shapes, when its factors are
/// split as the known layouts split them. Results that lack a split factor are partial over its axes. Operands may be
/// partial sums over axes where the op is linear in them (dialects/nn/Interfaces/LinearOpInterface.td); results are,
/// then, too. Emits an error on the op where two layouts disagree about a factor, a factor cannot be split, one axis
/// would split two factors, or parts would not be contiguous.
mlir::FailureOr<OpLayouts> completeLayouts(nn::ShardableOpInterface op, const OpLayouts &known,
                                           SplitMode mode = SplitMode::AsAWhole);

} // namespace pdc::passes

#endif // PDC_PASSES_LAYOUTS_OPLAYOUTS_H
