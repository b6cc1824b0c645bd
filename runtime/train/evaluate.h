// Running a model over a whole data set: averages of its outputs, or the outputs themselves.
#ifndef PDC_RUNTIME_TRAIN_EVALUATE_H_
#define PDC_RUNTIME_TRAIN_EVALUATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/exec/session.h"
#include "runtime/train/data/batch.h"

namespace pdc::train {

struct Evaluation {
  std::map<std::string, double> averages;  // of every scalar output of the evaluate program
  int64_t samples = 0;
};

// Averages over the data set, each sample once. Batches count by the number of their labels that are not
// ignored (by samples when the model has no labels), so a short last batch does not bend the result: it is
// filled up with labels that do not count; without labels with copies of sample 0, whose share, measured by a
// batch of nothing else, is taken off again. With `maximum_batches` above 0 and below what the data set has,
// that many batches of a fixed random choice of samples. `step` and `seed` as in training.
absl::StatusOr<Evaluation> Evaluate(exec::Session& session, const BatchBuilder& batches,
                                    int64_t maximum_batches, int64_t step, uint64_t seed);

// Runs the infer program over the data set. Collective; rank 0 writes the k-th output to paths[k], its
// samples in the order of the data set.
absl::Status Infer(exec::Session& session, const BatchBuilder& batches, const std::vector<std::string>& paths,
                   uint64_t seed);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_EVALUATE_H_
