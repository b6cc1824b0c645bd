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

// An input of the model, whichever ranks need it.
struct InputSpec {
  std::string name;
  program::ElementType type = program::ElementType::kF32;
  Shape sample_shape;
  int64_t batch = 0;  // samples of the global batch
  // Ids are 0 to id_limit - 1; labels may also be ignored_id, which does not count. 0: any value.
  int64_t id_limit = 0;
  std::optional<int64_t> ignored_id = std::nullopt;

  int64_t sample_elements() const { return ElementCount(sample_shape); }
  size_t sample_bytes() const { return sample_elements() * ElementBytes(type); }
};

// What a kInput buffer of a rank's program holds: samples of the global batch, those that a micro-batch has on this rank.
struct InputPart {
  size_t input = 0;  // of the model's
  int64_t samples = 0;
  int64_t first_sample = 0;
};

// The model's inputs, and which of their samples a rank loads.
struct BatchInputs {
  std::vector<InputSpec> inputs;
  std::vector<InputPart> parts;  // in the order of the program's kInput buffers
};

// Of a program that the checker has accepted. UNIMPLEMENTED when an input is split along another dimension than 0.
absl::StatusOr<BatchInputs> BatchInputsOf(const program::Program& program);

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
                                                              BatchInputs inputs, Normalization normalization);

  const std::vector<InputSpec>& inputs() const { return inputs_; }
  const std::vector<InputPart>& parts() const { return parts_; }
  const Dataset& dataset() const { return *dataset_; }
  // Sizes of the parts that Fill() writes.
  std::vector<size_t> bytes() const;

  // Writes a part of a global batch whose place `i` (0 <= i < batch) takes sample `sample_at(i)`;
  // -1 stands for a place to pad. OUT_OF_RANGE for an id that the model does not have.
  absl::Status Fill(size_t part, const std::function<int64_t(int64_t)>& sample_at, Padding padding,
                    std::byte* destination) const;

  // The number of labels that count in the global batch; the number of samples when there are no labels.
  absl::StatusOr<int64_t> CountedLabels(const std::function<int64_t(int64_t)>& sample_at) const;

 private:
  BatchBuilder(std::shared_ptr<const Dataset> dataset, BatchInputs inputs, Normalization normalization)
      : dataset_(std::move(dataset)),
        inputs_(std::move(inputs.inputs)),
        parts_(std::move(inputs.parts)),
        normalization_(std::move(normalization)) {}

  absl::Status FillSample(size_t field, int64_t sample, std::byte* destination) const;

  std::shared_ptr<const Dataset> dataset_;
  std::vector<InputSpec> inputs_;
  std::vector<InputPart> parts_;
  Normalization normalization_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_BATCH_H_
