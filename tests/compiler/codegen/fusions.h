//===- fusions.h - fused groups of common layers ----------------*- C++ -*-===//
#ifndef PDC_TESTS_COMPILER_CODEGEN_FUSIONS_H
#define PDC_TESTS_COMPILER_CODEGEN_FUSIONS_H

#include "tests/compiler/codegen/harness.h"

namespace pdc::codegen::test {

/// exp(x - max) / sum over the last dimension; with `causal`, only where column <= row.
nn::FusionOp softmax(FusionWriter &w, mlir::ArrayRef<int64_t> shape, bool causal = false,
                     mlir::Type element = {});
/// (x, scale, bias) -> normalized over the last dimension.
nn::FusionOp layerNorm(FusionWriter &w, int64_t rows, int64_t columns);
/// (grad, x, scale) -> gradient of x.
nn::FusionOp layerNormGrad(FusionWriter &w, int64_t rows, int64_t columns);
/// (logits, labels) -> loss per row.
nn::FusionOp crossEntropyRows(FusionWriter &w, int64_t rows, int64_t classes);
/// (logits, labels, grad per row) -> gradient of the logits.
nn::FusionOp crossEntropyRowsGrad(FusionWriter &w, int64_t rows, int64_t classes);
/// (x[n, c, h, w]) -> mean and variance per channel, and x normalized.
nn::FusionOp channelStatistics(FusionWriter &w, int64_t n, int64_t c, int64_t h, int64_t width);
/// (param, grad, m, v, rate) -> new param, m and v in place.
nn::FusionOp adamW(FusionWriter &w, mlir::ArrayRef<int64_t> shape);
/// (x, y) -> sums over rows of x * y and of x.
nn::FusionOp columnSums(FusionWriter &w, int64_t rows, int64_t columns);

} // namespace pdc::codegen::test

#endif // PDC_TESTS_COMPILER_CODEGEN_FUSIONS_H
