//===- SpecializePass.h - binds the batch, expands blocks -------*- C++ -*-===//
#ifndef PDC_PASSES_SPECIALIZE_SPECIALIZEPASS_H
#define PDC_PASSES_SPECIALIZE_SPECIALIZEPASS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/specialize/SpecializePass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/specialize/SpecializePass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_SPECIALIZE_SPECIALIZEPASS_H
