//===- NNChecks.h - checks and factors of rows x features -------*- C++ -*-===//
//
// Most layers see a tensor as rows of features: [rows..., features]. Their checks and sharding rules share
// this.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_IR_NNCHECKS_H
#define PDC_DIALECTS_NN_IR_NNCHECKS_H

#include "dialects/nn/IR/NNUtils.h"
#include "dialects/nn/Interfaces/OpCost.h"
#include "mlir/IR/TypeUtilities.h"

namespace pdc::nn {

/// Fails unless `type` has at least `rank` dimensions. `shape` says what they are, such as "[..., features]".
template <typename OpT>
mlir::LogicalResult checkRankAtLeast(std::optional<mlir::Location> location, llvm::StringRef operand,
                                     mlir::RankedTensorType type, int64_t rank, llvm::StringRef shape) {
  if (type.getRank() >= rank)
    return mlir::success();
  return inferError<OpT>(location, "expected ", operand, " ", shape, " of rank ", rank, " or more, found ",
                         type);
}

/// Fails unless `type` has exactly `rank` dimensions.
template <typename OpT>
mlir::LogicalResult checkRank(std::optional<mlir::Location> location, llvm::StringRef operand,
                              mlir::RankedTensorType type, int64_t rank, llvm::StringRef shape) {
  if (type.getRank() == rank)
    return mlir::success();
  return inferError<OpT>(location, "expected ", operand, " ", shape, " of rank ", rank, ", found ", type);
}

/// Fails where a dimension other than 0 is `?`.
template <typename OpT>
mlir::LogicalResult checkStaticButBatch(std::optional<mlir::Location> location, llvm::StringRef operand,
                                        mlir::RankedTensorType type) {
  for (int64_t i = 1; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      return inferError<OpT>(location,
                             "expected static dimensions (only dimension 0, the batch, may be `?`), found ",
                             operand, " ", type, " with `?` at dimension ", i);
  return mlir::success();
}

/// Fails unless `type` is `shape`, with the element type of the input, or f32 (statistics and scales stay in
/// f32 where activations are bf16 or f16).
template <typename OpT>
mlir::LogicalResult checkScale(std::optional<mlir::Location> location, llvm::StringRef operand,
                               mlir::RankedTensorType type, int64_t features, mlir::RankedTensorType input) {
  mlir::Type element = type.getElementType();
  bool fits = type.getRank() == 1 && type.getDimSize(0) == features &&
              (element == input.getElementType() || (element.isF32() && !input.getElementType().isF64()));
  if (fits)
    return mlir::success();
  return inferError<OpT>(location, "expected ", operand, " ",
                         mlir::RankedTensorType::get({features}, input.getElementType()), " for the input ",
                         input, ", found ", type);
}

/// Fails unless the element types are equal.
template <typename OpT>
mlir::LogicalResult checkSameElementType(std::optional<mlir::Location> location, llvm::StringRef lhsName,
                                         mlir::RankedTensorType lhs, llvm::StringRef rhsName,
                                         mlir::RankedTensorType rhs) {
  if (lhs.getElementType() == rhs.getElementType())
    return mlir::success();
  return inferError<OpT>(location, "expected ", lhsName, " and ", rhsName, " of one element type, found ",
                         lhs, " and ", rhs, "; convert one with `nn.cast`");
}

/// The type with the last dimension left out.
inline mlir::RankedTensorType rowsType(mlir::RankedTensorType type, mlir::Type elementType) {
  return mlir::RankedTensorType::get(type.getShape().drop_back(), elementType);
}

/// One factor per leading dimension: "batch" for dimension 0, then "m1", "m2", ...
inline ValueFactors addRowFactors(ShardingRule &rule, llvm::ArrayRef<int64_t> rows,
                                  FactorKind kind = FactorKind::Parallel) {
  ValueFactors factors;
  for (auto [i, size] : llvm::enumerate(rows))
    factors.push_back({rule.addFactor(i == 0 ? "batch" : "m" + std::to_string(i), size, kind)});
  return factors;
}

/// `factors` with one more dimension, of one factor.
inline ValueFactors withFactor(ValueFactors factors, int factor) {
  factors.push_back({factor});
  return factors;
}

/// 0, 1, ..., count - 1.
inline llvm::SmallVector<int64_t, 4> leadingDims(int64_t count) {
  return llvm::to_vector<4>(llvm::seq<int64_t>(0, count));
}

/// Elements as a number of operations.
inline double elements(mlir::Value value) {
  return static_cast<double>(staticElementCount(tensorType(value).getShape()));
}

/// `cost` with the floating-point operations given.
inline OpCost withFlops(OpCost cost, double flops) {
  cost.flops = flops;
  return cost;
}

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_NNCHECKS_H
