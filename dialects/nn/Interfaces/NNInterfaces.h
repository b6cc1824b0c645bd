//===- NNInterfaces.h - what an op knows about itself -----------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_H
#define PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_H

#include "dialects/nn/Interfaces/OpCost.h"
#include "dialects/nn/Interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace pdc::nn {
/// Elements [begin, end) of a dimension of the unsplit value.
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
  bool operator==(const Interval &) const = default;
};

/// Which elements of each operand and result a part has along the dimension of a factor of kind Halo; empty
/// intervals for values that lack the factor.
struct HaloPart {
  llvm::SmallVector<Interval, 3> operands;
  llvm::SmallVector<Interval, 1> results;
};

/// One part of a split op.
struct LocalPart {
  mlir::ValueRange operands;
  mlir::TypeRange resultTypes;
  /// Per factor: a scalar i64 tensor that says at which of the factor's elements the part begins, for factors
  /// that are split and need it (Factor::needsStart); null otherwise.
  llvm::ArrayRef<mlir::Value> starts;
  /// Per factor: what the part has along it, the elements that getHalo asks for included. Without intervals
  /// unless the factor is of kind Halo and split.
  llvm::ArrayRef<HaloPart> halos;
};

/// The op itself on local types.
llvm::SmallVector<mlir::Value> cloneLocal(mlir::Operation *op, mlir::OpBuilder &builder,
                                          const LocalPart &part);

/// Ids of a table's rows or of classes: 0 to `limit` - 1, and `ignored` where labels can be left out.
struct IdRange {
  int64_t limit = 0;
  std::optional<int64_t> ignored;
};

template <typename OpT>
class ForwardsIds : public mlir::OpTrait::TraitBase<OpT, ForwardsIds> {};

/// No floating-point work to speak of: reads every operand and writes every result once.
OpCost streamingCost(mlir::Operation *op);
} // namespace pdc::nn

#include "dialects/nn/Interfaces/NNInterfaces.h.inc"

#endif // PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_H
