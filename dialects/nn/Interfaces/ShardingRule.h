//===- ShardingRule.h - how an op may be split ------------------*- C++ -*-===//
//
// A sharding rule says how an op's loops run over the dimensions of its operands and results, as Shardy does
// (https://github.com/openxla/shardy, "sharding rule"). Every loop is a factor. A dimension is a list of
// factors, major to minor: [batch*sequence, hidden] of a flattening reshape is [[batch, sequence], [hidden]].
// A planner assigns mesh axes to factors; everything else (local shapes, partial sums, collectives) follows.
//
// A split factor that a result does not have leaves that result a partial sum (or maximum) over the axes of
// the factor. This holds per result: the rows of layer_norm_grad are Parallel, since the gradient of the
// input has them; the gradients of scale and bias, which lack them, are partial sums when the rows are split.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_INTERFACES_SHARDINGRULE_H
#define PDC_DIALECTS_NN_INTERFACES_SHARDINGRULE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace pdc::nn {

enum class FactorKind {
  Parallel, // appears in a result: each part computes its part of it (a partial sum of results that lack it)
  ReductionSum, // appears in operands only: each part computes a partial sum of the whole result
  ReductionMax, // likewise, with max
  Halo,         // windows: a part needs elements of its neighbours too (ShardableOpInterface::getHalo)
  Decomposed,   // can be split when the op is first replaced by its parts (passes/layouts/SplitByParts.h)
  Replicated    // cannot be split: every part needs the whole dimension
};

struct Factor {
  std::string name; // "batch", "m", "n", "k", "heads", ...: for reports
  int64_t size;     // elements in the unsplit op; ShapedType::kDynamic before the batch is bound
  FactorKind kind;
  bool needsStart = false; // a part must be told where it begins (LocalPart::starts)
};

/// The factors of one dimension, major to minor, as indices into ShardingRule::factors. Empty: size one.
using DimFactors = llvm::SmallVector<int, 2>;
/// One entry per dimension of a value.
using ValueFactors = llvm::SmallVector<DimFactors, 4>;

struct ShardingRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<ValueFactors, 4> operands; // one entry per operand
  llvm::SmallVector<ValueFactors, 2> results;  // one entry per result

  int addFactor(llvm::StringRef name, int64_t size, FactorKind kind = FactorKind::Parallel,
                bool needsStart = false) {
    factors.push_back({name.str(), size, kind, needsStart});
    return static_cast<int>(factors.size()) - 1;
  }
};

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_INTERFACES_SHARDINGRULE_H
