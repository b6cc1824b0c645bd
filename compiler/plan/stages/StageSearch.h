//===- StageSearch.h - data, tensor, pipeline, ZeRO, micro-batches -*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_STAGESEARCH_H
#define PDC_COMPILER_PLAN_STAGES_STAGESEARCH_H

#include "compiler/plan/stages/StageCosts.h"

namespace pdc::plan {

/// What somebody has decided; the rest is searched.
struct StageSpace {
  std::optional<int64_t> data, tensor, pipeline, zero, microBatches;
  std::optional<std::string> schedule;
  int64_t chunks = 1; // of each stage, where the schedule is given
  std::optional<Recompute> recompute;
  /// One micro-batch where the model has statistics of the batch (batch_norm, the balance of experts): those of parts of it are
  /// others.
  bool keepsStatistics = false;
  /// Replicas take micro-batches in turn, so that each has one. (They are priced as if they split each.)
  bool takesTurns = false;
};

struct StageRequest {
  const machine::Cluster &cluster;
  const cost::CostModel &costs;
  int64_t ranks = 1;
  StageSpace space;
  std::optional<int64_t> memoryLimitBytes; // of a rank
};

/// How a step is best run.
struct StageDecision {
  StageSetting setting;
  StagePlan plan;                    // its stages are the setting's parts
  std::vector<StageSplit> meshes;    // per stage
  std::vector<Recompute> recompute; // per stage
  std::vector<int64_t> bytes;       // of a rank of each stage
  std::vector<int64_t> chunkOfOp;   // per op of the step; -1: no forward op
  double simulatedSeconds = 0;      // of the schedule
  double lowerBoundSeconds = 0;     // of the whole space: no layouts, cuts or settings cost less
  double leastSeconds = 0;          // of the plan that costs least; the simulation may prefer another
  double plansConsidered = 0;
  double searchSeconds = 0;

  /// The whole batch at once, on one stage, and nothing computed again.
  bool isWhole() const { return setting.stages == 1 && setting.microBatches == 1 && recompute.front() == Recompute::None; }
  bool fits() const { return plan.status == StageStatus::found; }
};

/// The best way to run a step that trains: over all numbers of stages, meshes, ZeRO stages, micro-batches, schedules, cuts,
/// and what is computed again on each stage. Of up to 16 ranks and 4 stages, stages may also have different numbers of ranks,
/// each divided as is best (PipeDream's 15-1, Narayanan et al. 2019). Of settings whose bound is above the best plan nothing more is asked. The
/// schedules of the few best plans are simulated, and the fastest is taken. Where nothing fits into memory, the plan that
/// lacks least.
///
/// Nothing where the step cannot run in micro-batches, or the space is empty.
std::optional<StageDecision> searchStages(nn::StepOp step, const StageRequest &request);

/// "pipeline=2 data=2 tensor=1 zero=0, 8 micro-batches, 1f1b"
std::string describe(const StageSetting &setting);
/// The same, with ", recompute full none" where stages compute something again.
std::string describe(const StageDecision &decision);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_STAGESEARCH_H
