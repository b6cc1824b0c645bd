//===- PlanDataParallelPass.h - the batch is split over all ranks -*- C++ -*-===//
#ifndef PDC_PASSES_PLAN_DATA_PARALLEL_PLANDATAPARALLELPASS_H
#define PDC_PASSES_PLAN_DATA_PARALLEL_PLANDATAPARALLELPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/plan_data_parallel/PlanDataParallelPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/plan_data_parallel/PlanDataParallelPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_PLAN_DATA_PARALLEL_PLANDATAPARALLELPASS_H
