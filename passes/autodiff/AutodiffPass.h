//===- AutodiffPass.h - from a model to its steps ---------------*- C++ -*-===//
#ifndef PDC_PASSES_AUTODIFF_AUTODIFFPASS_H
#define PDC_PASSES_AUTODIFF_AUTODIFFPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/autodiff/AutodiffPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/autodiff/AutodiffPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_AUTODIFF_AUTODIFFPASS_H
