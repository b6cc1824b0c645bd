// Measuring steps.
#ifndef PDC_RUNTIME_TRAIN_BENCH_H_
#define PDC_RUNTIME_TRAIN_BENCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/session.h"
#include "runtime/train/data/batch.h"

namespace pdc::train {

struct BenchResult {
  std::vector<double> step_times_seconds;
  double median_seconds = 0;
  // Of all threads of this rank, in the median step. Where other programs keep the machine busy it says more
  // than the wall clock.
  double processor_seconds = 0;
  double samples_per_second = 0;
  double tokens_per_second = 0;             // 0 where samples are not token sequences
  double flops_per_step = 0;                // floating-point operations of all ranks
  std::vector<uint64_t> peak_memory_bytes;  // the arenas of each rank
};

struct BenchOptions {
  int64_t warmup = 3;  // steps that do not count
  int64_t steps = 10;
  uint64_t seed = 0;
  std::string trace;  // file for a Chrome trace of the measured steps; empty: none
};

// Collective: runs steps (train, or else infer) over the data set in order, again from its beginning when it
// ends.
absl::StatusOr<BenchResult> Bench(exec::Session& session, program::Mode mode, const BatchBuilder& batches,
                                  const BenchOptions& options);

// The JSON of `bench --json`. `report` is the plan report of the executable; predictions that it lacks are
// left out.
std::string ToJson(const BenchResult& result, const std::string& report);

// A line for a person.
std::string ToText(const BenchResult& result);

double Median(std::vector<double> values);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_BENCH_H_
