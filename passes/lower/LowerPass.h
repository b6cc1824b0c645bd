//===- LowerPass.h - from steps to rank programs ----------------*- C++ -*-===//
#ifndef PDC_PASSES_LOWER_LOWERPASS_H
#define PDC_PASSES_LOWER_LOWERPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/lower/LowerPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/lower/LowerPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_LOWER_LOWERPASS_H
