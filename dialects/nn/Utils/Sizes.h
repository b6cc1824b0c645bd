//===- Sizes.h - the bytes of values ----------------------------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_UTILS_SIZES_H
#define PDC_DIALECTS_NN_UTILS_SIZES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace pdc::nn {

/// The most bytes that a value may have: 2^46, half of the addresses that a process has on x86-64. Sums over
/// the values of a program then fit 64 bits.
inline constexpr int64_t kMaxValueBytes = int64_t{1} << 46;

/// The bytes of a value with static shape; nothing where they are more than kMaxValueBytes, or negative because a
/// size overflowed.
std::optional<int64_t> valueBytes(mlir::Type type);

/// Fails where a value of `type` is too large; `error` begins the message, which says what the value is.
mlir::LogicalResult checkBytes(mlir::Type type, llvm::function_ref<mlir::InFlightDiagnostic()> error);

/// Fails with the first result of `op` that is too large.
mlir::LogicalResult checkResultBytes(mlir::Operation *op);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_UTILS_SIZES_H
