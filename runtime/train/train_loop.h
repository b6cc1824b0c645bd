// The training loop: data, steps, learning rate, validation, logs, checkpoints.
#ifndef PDC_RUNTIME_TRAIN_TRAIN_LOOP_H_
#define PDC_RUNTIME_TRAIN_TRAIN_LOOP_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/session.h"
#include "runtime/train/checkpoint/checkpoint.h"
#include "runtime/train/data/batch.h"
#include "runtime/train/options.h"

namespace pdc::train {

// What a run reads before anything is computed.
struct TrainingPlan {
  std::unique_ptr<BatchBuilder> training;
  std::unique_ptr<BatchBuilder> validation;  // null without --eval-every
  std::string resume_folder;                 // of the checkpoint to continue; empty: none
  TrainingState resumed;                     // its state; step 0 when there is none
  LearningRateSchedule schedule;             // with the scaled peak
  uint64_t seed = 0;
};

// Opens the data and checks files, folders and the checkpoint to resume. Each rank for itself.
absl::StatusOr<TrainingPlan> PlanTraining(const Options& options, const program::Executable& executable,
                                          int rank);

struct TrainingResult {
  int64_t last_step = 0;
  int signal = 0;  // the signal that ended the run early, or 0
};

// Where progress is shown (by rank 0).
struct Console {
  std::FILE* out = stdout;
  bool is_terminal = false;
};

// Collective. Every error names the rank and the step. While checkpoints are on, SIGINT and SIGTERM end the
// run after the step that is under way, with a checkpoint.
absl::StatusOr<TrainingResult> Train(const Options& options, const TrainingPlan& plan, exec::Session& session,
                                     const Console& console);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_TRAIN_LOOP_H_
