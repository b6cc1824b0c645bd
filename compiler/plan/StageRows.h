//===- StageRows.h - the stages of a pipeline, for the report ---*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGEROWS_H
#define PDC_COMPILER_PLAN_STAGEROWS_H

#include "compiler/cost/CostModel.h"
#include "compiler/plan/Report.h"

namespace pdc::plan {

/// Which ranks each stage has: those that follow each other.
class Stages {
public:
  Stages(const std::vector<int64_t> &stageRanks, int64_t ranks);
  int64_t count() const { return static_cast<int64_t>(ends.size()); }
  int64_t of(int64_t rank) const;

private:
  std::vector<int64_t> ends;
};

/// What a person calls the layers of each stage: the names of its parameters without their last part. A parameter of several
/// stages (an embedding that is also the head) counts for the first one, and for stages that have no other.
std::vector<llvm::json::Array> layersOfStages(const Stages &stages, llvm::ArrayRef<const program::ProgramT *> programs);

/// What each stage sends the others in a step, with its bytes, the time of all such messages alone, and the reason.
llvm::json::Array messagesBetweenStages(const Stages &stages, llvm::ArrayRef<const program::ProgramT *> programs,
                                        const machine::Cluster &cluster, const cost::CostModel &costs);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGEROWS_H
