//===- NNUtils.h - what the families of nn ops share ------------*- C++ -*-===//
//
// Type inference with errors that say what was expected, broadcasting, the few ops that gradients are made
// of, and sharding rules of the common shapes of computation.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_IR_NNUTILS_H
#define PDC_DIALECTS_NN_IR_NNUTILS_H

#include "dialects/nn/Interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include <optional>
#include <string>

namespace pdc::nn {

//===----------------------------------------------------------------------===//
// Types and messages
//===----------------------------------------------------------------------===//

/// Fails with "'nn.op' op ..." at `location`; silently where type inference has none.
template <typename OpT, typename... Args>
mlir::LogicalResult inferError(std::optional<mlir::Location> location, Args &&...args) {
  return mlir::emitOptionalError(location, "'", OpT::getOperationName(), "' op ",
                                 std::forward<Args>(args)...);
}

/// The value's type as a ranked tensor, null if it is none.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

/// Shapes as they are written in types, without the element type: "[?x784]", "[]" for a scalar.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// `axis` if it is one of `rank` dimensions, counted from 0 (no negative axes in this dialect).
inline bool isAxis(int64_t axis, int64_t rank) { return axis >= 0 && axis < rank; }

/// The common shape of two shapes as in numpy: right-aligned, size one stretches. The batch `?` goes with `?`
/// and 1 only. Nothing if they do not go together.
std::optional<llvm::SmallVector<int64_t>> broadcastShapes(llvm::ArrayRef<int64_t> lhs,
                                                          llvm::ArrayRef<int64_t> rhs);

/// Elements of a static shape, or of the static dimensions of one with `?`.
int64_t staticElementCount(llvm::ArrayRef<int64_t> shape);

/// What generated kernels compute in: f32 for f32, bf16 and f16, f64 for f64; integers and i1 as they are.
mlir::Type computeType(mlir::Type elementType);

//===----------------------------------------------------------------------===//
// Ops that gradients and decompositions are made of
//===----------------------------------------------------------------------===//

/// `value` in every element, rounded to the element type; the type must be static.
mlir::DenseElementsAttr splatAttr(mlir::RankedTensorType type, double value);
mlir::Value splatConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType type,
                          double value);
/// A constant scalar of `like`'s element type, to be broadcast.
mlir::Value scalarConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value like, double value);
/// Zeros of a static type.
mlir::Value zeros(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type);

/// `value` with another element type; itself if it has that type.
mlir::Value castTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type elementType);
/// `value` under another shape of as many elements; itself if it has that shape.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<int64_t> shape);
/// `value` stretched to `shape` as in numpy; itself if it has that shape.
mlir::Value broadcastTo(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        llvm::ArrayRef<int64_t> shape);
/// The gradient of broadcasting a value of `type` to `value`'s shape: sums over the stretched and added
/// dimensions.
mlir::Value reduceToShape(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Type type);

/// The bias that a part of a split sum adds: `bias` where the part begins at zero, zeros in the others, so that
/// the sum over the parts has it once.
mlir::Value biasOfFirstPart(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value bias,
                            mlir::Value start);

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

/// Every dimension of the result is a parallel factor ("dim0", "dim1", ...), which operands share where they
/// are not stretched. The first result decides; all results have its shape.
ShardingRule elementwiseRule(mlir::TypeRange operands, mlir::TypeRange results);

/// Every dimension of every value is a factor of its own that cannot be split.
ShardingRule replicatedRule(mlir::TypeRange operands, mlir::TypeRange results);

/// Every dimension of `type` is a factor called `prefix` and its number; dimensions of size one have none.
/// Adds the factors to `rule` and returns them per dimension.
ValueFactors addFactors(ShardingRule &rule, mlir::Type type, llvm::StringRef prefix,
                        FactorKind kind = FactorKind::Parallel);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_NNUTILS_H
