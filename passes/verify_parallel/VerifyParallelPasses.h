//===- VerifyParallelPasses.h - what partition and lower leave --*- C++ -*-===//
#ifndef PDC_PASSES_VERIFY_PARALLEL_VERIFYPARALLELPASSES_H
#define PDC_PASSES_VERIFY_PARALLEL_VERIFYPARALLELPASSES_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/verify_parallel/VerifyParallelPasses.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/verify_parallel/VerifyParallelPasses.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_VERIFY_PARALLEL_VERIFYPARALLELPASSES_H
