//===- SeparateProjectionsPass.h - parts of a projection --------*- C++ -*-===//
#ifndef PDC_PASSES_SEPARATE_PROJECTIONS_SEPARATEPROJECTIONSPASS_H
#define PDC_PASSES_SEPARATE_PROJECTIONS_SEPARATEPROJECTIONSPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/separate_projections/SeparateProjectionsPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/separate_projections/SeparateProjectionsPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_SEPARATE_PROJECTIONS_SEPARATEPROJECTIONSPASS_H
