//===- BiasPasses.h - biases apart from products ----------------*- C++ -*-===//
#ifndef PDC_PASSES_BIAS_BIASPASSES_H
#define PDC_PASSES_BIAS_BIASPASSES_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/bias/BiasPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/bias/BiasPasses.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_BIAS_BIASPASSES_H
