// Batches for a program: matches the fields of a data set to the program's inputs and fills one rank's part.
#ifndef PDC_RUNTIME_TRAIN_DATA_BATCH_H_
#define PDC_RUNTIME_TRAIN_DATA_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/program/program_generated.h"
#include "runtime/train/buffers.h"
#include "runtime/train/data/convert.h"
#include "runtime/train/data/dataset.h"

namespace pdc::train {

// A kInput buffer of a program: `local_samples` samples of the global batch, from `first_sample` on.
struct InputSpec {
  std::string name;
  program::ElementType type = program::ElementType::kF32;
  Shape sample_shape;
  int64_t batch = 0;  // samples of the global batch
  int64_t local_samples = 0;
  int64_t first_sample = 0;
  // Ids are 0 to id_limit - 1; labels may also be ignored_id, which does not count. 0: any value.
  int64_t id_limit = 0;
  std::optional<int64_t> ignored_id = std::nullopt;

  int64_t sample_elements() const { return ElementCount(sample_shape); }
  size_t sample_bytes() const { return sample_elements() * ElementBytes(type); }
  size_t bytes() const { return local_samples * sample_bytes(); }
};

// UNIMPLEMENTED when the input is split along another dimension than 0.
absl::StatusOr<InputSpec> MakeInputSpec(const program::Buffer& buffer);

// The input that holds the expected answers: an integer input named "label", "labels", "target" or "targets",
// or else the last of two or more inputs if it is an integer; -1 if there is none.
int LabelInput(const std::vector<InputSpec>& inputs);

// Labels with this value do not count in cross_entropy, unless the program's input states another one.
inline constexpr int64_t kIgnoreIndex = -100;

// What stands in the places of a batch that has fewer samples than the program takes.
enum class Padding {
  kIgnoredLabels,  // zeros, with labels that do not count
  kFirstSample     // copies of the data set's sample 0
};

class BatchBuilder {
 public:
  // Field i of the data set goes to input i. INVALID_ARGUMENT when their number, a shape or an element type
  // does not fit. Shapes fit when they are equal up to dimensions of size 1, or when one of them is flat and
  // they have the same number of elements. `normalization` applies to input 0 if it is floating-point.
  static absl::StatusOr<std::unique_ptr<BatchBuilder>> Create(std::shared_ptr<const Dataset> dataset,
                                                              std::vector<InputSpec> inputs,
                                                              Normalization normalization);

  const std::vector<InputSpec>& inputs() const { return inputs_; }
  const Dataset& dataset() const { return *dataset_; }
  // Sizes of the buffers that Fill() writes.
  std::vector<size_t> bytes() const;

  // Writes this rank's part of a global batch whose place `i` (0 <= i < batch) takes sample `sample_at(i)`;
  // -1 stands for a place to pad. OUT_OF_RANGE for an id that the model does not have.
  absl::Status Fill(const std::function<int64_t(int64_t)>& sample_at, Padding padding,
                    const std::vector<std::byte*>& fields) const;

  // The number of labels that count in the global batch; the number of samples when there are no labels.
  absl::StatusOr<int64_t> CountedLabels(const std::function<int64_t(int64_t)>& sample_at) const;

 private:
  BatchBuilder(std::shared_ptr<const Dataset> dataset, std::vector<InputSpec> inputs,
               Normalization normalization)
      : dataset_(std::move(dataset)), inputs_(std::move(inputs)), normalization_(std::move(normalization)) {}

  absl::Status FillSample(size_t field, int64_t sample, std::byte* destination) const;

  std::shared_ptr<const Dataset> dataset_;
  std::vector<InputSpec> inputs_;
  Normalization normalization_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_BATCH_H_
