//===- LayoutBound.h - what no pipeline takes less than ---------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_LAYOUTBOUND_H
#define PDC_COMPILER_PLAN_STAGES_LAYOUTBOUND_H

#include "compiler/plan/stages/StageCosts.h"

namespace pdc::plan {

/// A schedule, and how many chunks each stage has in it.
struct StageSchedule {
  std::string name;
  int64_t chunks = 1;
};

/// No plan with these numbers of stages, ranks and micro-batches takes less, in whatever layouts, under any of the ZeRO
/// stages that `zero` leaves open and of `schedules`; all stages have the same mesh. Infinite where the step cannot be split so.
/// Unless `isExact`, tables that are there already are asked, of more samples if need be.
double boundOfAllLayouts(LayoutTables &tables, StageLinks &links, const StageSetting &setting,
                         std::optional<int64_t> zero, const std::vector<StageSchedule> &schedules, bool isExact = true);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_LAYOUTBOUND_H
