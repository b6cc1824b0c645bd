//===- PrecisionPass.h - the type that a model computes in ------*- C++ -*-===//
#ifndef PDC_PASSES_PRECISION_PRECISIONPASS_H
#define PDC_PASSES_PRECISION_PRECISIONPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

enum class ComputeType { F32, BF16 };

#define GEN_PASS_DECL
#include "passes/precision/PrecisionPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/precision/PrecisionPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_PRECISION_PRECISIONPASS_H
