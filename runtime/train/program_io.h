// Between a session's buffers and the trainer: inputs, scalar inputs, outputs, initial values, batches.
#ifndef PDC_RUNTIME_TRAIN_PROGRAM_IO_H_
#define PDC_RUNTIME_TRAIN_PROGRAM_IO_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/session.h"
#include "runtime/train/data/batch.h"
#include "runtime/train/data/prefetch.h"
#include "runtime/train/options.h"

namespace pdc::train {

// The program a rank runs in a mode. NOT_FOUND: "the executable was compiled without mode 'evaluate'...".
absl::StatusOr<const program::Program*> RequireProgram(const program::Executable& executable, int rank,
                                                       program::Mode mode);

// Builds a batch right in the session's input buffers, where and when a step needs them. `batches` outlives it.
exec::InputWriter InputsOf(const BatchBuilder& batches, std::function<int64_t(int64_t)> sample_at, Padding padding);

// Copies what was prefetched, which outlives it: the parts of the batch of Prefetcher::Next().
exec::InputWriter InputsOf(Prefetcher& prefetcher, const BatchBuilder& batches);

struct Scalars {
  double learning_rate = 0;
  int64_t step = 1;
  uint64_t seed = 0;  // of the run
};

// Writes "learning_rate", "step" and "seed". The program's seed is a function of the run's seed and the step,
// so that no step repeats the random numbers of another. UNIMPLEMENTED for a scalar input of another name.
absl::Status SetScalars(exec::Session& session, program::Mode mode, const Scalars& scalars);

// Outputs of one element that are not gradients, by name.
std::map<std::string, double> ScalarOutputs(exec::Session& session, program::Mode mode);

// The loss among ScalarOutputs: "loss", or else the program's first scalar output. NOT_FOUND when it has
// none.
absl::StatusOr<std::string> LossName(const program::Program& program);

// Initial values of all persistent buffers.
absl::Status InitializeAll(exec::Session& session, program::Mode mode, uint64_t seed);

// Opens `files` for the inputs of `program`. Text windows begin one token apart with `overlapping_windows`,
// one sequence apart without, so that each token is scored once.
absl::StatusOr<std::unique_ptr<BatchBuilder>> OpenBatches(const DataOptions& options,
                                                          const std::vector<std::string>& files, Split split,
                                                          bool overlapping_windows,
                                                          const program::Program& program);

// Random samples for the inputs: standard normal numbers, and ids from 0 to 9, as far as the inputs allow
// them.
std::shared_ptr<const Dataset> MakeSyntheticDataset(const std::vector<InputSpec>& inputs, int64_t samples,
                                                    uint64_t seed);

// Bytes of both arenas that a rank needs for the program; 0 if it has none.
uint64_t ArenaBytes(const program::Executable& executable, int rank, program::Mode mode);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_PROGRAM_IO_H_
