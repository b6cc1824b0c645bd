// Comparing the parallel step with the single-device one.
#ifndef PDC_RUNTIME_TRAIN_VERIFY_H_
#define PDC_RUNTIME_TRAIN_VERIFY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/session.h"
#include "runtime/train/data/batch.h"

namespace pdc::train {

// One compared value of one step.
struct Comparison {
  int64_t step = 0;
  std::string name;               // "loss" or the parameter whose gradient it is
  double largest = 0;             // the largest absolute reference value
  double largest_difference = 0;  // of any element
  double relative = 0;            // see FinishGradients, FinishOutputs
  bool is_absolute = false;       // `relative` is the largest difference: the reference is zero but for rounding
};

// Differences relative to the larger of the tensor's largest value and a hundredth of the largest gradient of
// the model: the rounding of a gradient that is zero in exact arithmetic (a key's bias in attention) must not
// count as a difference of its whole size. A value that is not a number makes the difference infinite.
// Where all gradients are below 1e-7, differences are absolute.
void FinishGradients(std::vector<Comparison>& gradients);

// Differences relative to the output's largest value; absolute where that is below 1e-7: beside an accuracy of 0, every
// other one would be infinitely far.
void FinishOutputs(std::vector<Comparison>& outputs);

// Largest value and difference of two tensors of one type.
Comparison CompareTensors(program::ElementType type, const std::byte* reference, const std::byte* value,
                          int64_t count);

// The same samples for each of the programs, whose parts of them a rank may need in one and not in another.
struct VerifyBatches {
  const BatchBuilder& gradient;
  const BatchBuilder& train;
  const BatchBuilder* reference = nullptr;  // rank 0 only
};

struct VerifyOptions {
  int64_t steps = 1;
  double learning_rate = 1e-3;
  uint64_t seed = 0;
};

// Collective. For each step: the gradient program on all ranks and, from the same parameters, state and
// batch, the reference gradient program on rank 0; then a training step, so that the next comparison is
// somewhere else. Comparisons are returned on rank 0.
absl::StatusOr<std::vector<Comparison>> Verify(exec::Session& session, const VerifyBatches& batches,
                                               const VerifyOptions& options);

// A table of every value's worst step, the worst value last.
std::string ToTable(const std::vector<Comparison>& comparisons);

// The comparison of the largest relative difference; null when there is none.
const Comparison* Worst(const std::vector<Comparison>& comparisons);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_VERIFY_H_
