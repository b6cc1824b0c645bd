//===- VerifyPasses.h - what each phase promises ----------------*- C++ -*-===//
#ifndef PDC_PASSES_VERIFY_VERIFYPASSES_H
#define PDC_PASSES_VERIFY_VERIFYPASSES_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/verify/VerifyPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/verify/VerifyPasses.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_VERIFY_VERIFYPASSES_H
