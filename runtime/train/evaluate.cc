#include "runtime/train/evaluate.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"
#include "runtime/train/checkpoint/parts.h"
#include "runtime/train/data/npy.h"
#include "runtime/train/data/shuffle.h"
#include "runtime/train/program_io.h"

namespace pdc::train {
namespace {

using program::BufferKind;
using program::Mode;

using SampleAt = std::function<int64_t(int64_t)>;

absl::StatusOr<std::map<std::string, double>> RunBatch(exec::Session& session, const BatchBuilder& batches,
                                                       const SampleAt& sample_at, Padding padding,
                                                       const Scalars& scalars) {
  PDC_RETURN_IF_ERROR(SetScalars(session, Mode::kEvaluate, scalars));
  PDC_RETURN_IF_ERROR(session.Run(Mode::kEvaluate, scalars.step, InputsOf(batches, sample_at, padding)));
  return ScalarOutputs(session, Mode::kEvaluate);
}

// The outputs of inference, in the order of the ranks that hold them and of their programs: those of a pipeline are held by
// the stages that make them.
std::vector<std::string> OutputNames(const program::Executable& executable) {
  std::vector<std::string> names;
  for (int rank = 0; rank < executable.ranks(); ++rank) {
    const program::Program* program = program::FindProgram(executable, rank, Mode::kInfer);
    for (uint32_t i = 0; program != nullptr && i < program::Size(program->buffers()); ++i) {
      const program::Buffer& buffer = *program->buffers()->Get(i);
      const std::string name = NameOf(buffer);
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      if (buffer.kind() == BufferKind::kOutput && !known) names.push_back(name);
    }
  }
  return names;
}

void AddScaled(const std::map<std::string, double>& values, double scale,
               std::map<std::string, double>& sums) {
  for (const auto& [name, value] : values) sums[name] += scale * value;
}

}  // namespace

absl::StatusOr<Evaluation> Evaluate(exec::Session& session, const BatchBuilder& batches,
                                    int64_t maximum_batches, int64_t step, uint64_t seed) {
  const int64_t batch = batches.inputs()[0].batch;
  const int64_t size = batches.dataset().size();
  const bool has_labels = LabelInput(batches.inputs()) >= 0;
  const Padding padding = has_labels ? Padding::kIgnoredLabels : Padding::kFirstSample;
  const Scalars scalars = {.learning_rate = 0, .step = step, .seed = seed};
  int64_t count = (size + batch - 1) / batch;
  const bool some = maximum_batches > 0 && maximum_batches < count;
  if (some) count = maximum_batches;
  const EpochPermutation order(size, /*seed=*/0, /*epoch=*/0);

  Evaluation result;
  double weights = 0;
  for (int64_t k = 0; k < count; ++k) {
    const SampleAt sample_at = [&](int64_t i) {
      const int64_t position = k * batch + i;
      if (position >= size) return int64_t{-1};
      return some ? order(position) : position;
    };
    PDC_ASSIGN_OR_RETURN(const int64_t counted, batches.CountedLabels(sample_at));
    result.samples += std::min(batch, size - k * batch);
    if (counted == 0) continue;
    PDC_ASSIGN_OR_RETURN(const auto outputs, RunBatch(session, batches, sample_at, padding, scalars));
    weights += static_cast<double>(counted);
    if (has_labels || counted == batch) {
      AddScaled(outputs, static_cast<double>(counted), result.averages);
      continue;
    }
    PDC_ASSIGN_OR_RETURN(const auto first_sample,
                         RunBatch(session, batches, [](int64_t) { return int64_t{0}; }, padding, scalars));
    AddScaled(outputs, static_cast<double>(batch), result.averages);
    AddScaled(first_sample, -static_cast<double>(batch - counted), result.averages);
  }
  if (weights == 0) return absl::InvalidArgumentError("the data set has no label that counts");
  for (auto& [name, sum] : result.averages) sum /= weights;
  return result;
}

absl::Status Infer(exec::Session& session, const BatchBuilder& batches, const std::vector<std::string>& paths,
                   uint64_t seed) {
  PDC_ASSIGN_OR_RETURN(const auto parts, FindParts(session.executable(), Mode::kInfer, BufferKind::kOutput));
  const std::vector<std::string> outputs = OutputNames(session.executable());
  std::map<std::string, const std::byte*> local;  // what this rank holds
  for (const exec::BufferView& view : session.buffers(Mode::kInfer, BufferKind::kOutput)) {
    local[NameOf(*view.description)] = view.data;
  }
  const int64_t batch = batches.inputs()[0].batch;
  const int64_t size = batches.dataset().size();
  if (outputs.size() < paths.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output names ", paths.size(), " files, the model has ", outputs.size(), " outputs"));
  }
  for (size_t k = 0; k < paths.size(); ++k) {
    const Shape& shape = parts.at(outputs[k]).info.shape;
    if (shape.empty() || shape[0] != batch) {
      return absl::InvalidArgumentError(absl::StrCat("output '", outputs[k], "' of shape ", ShapeText(shape),
                                                     " has no batch dimension of ", batch));
    }
  }
  std::vector<std::vector<std::byte>> results(paths.size());
  for (int64_t begin = 0; begin < size; begin += batch) {
    const int64_t valid = std::min(batch, size - begin);
    PDC_RETURN_IF_ERROR(SetScalars(session, Mode::kInfer, {.learning_rate = 0, .step = 1, .seed = seed}));
    PDC_RETURN_IF_ERROR(session.Run(Mode::kInfer, begin / batch + 1,
                                    InputsOf(batches, [&](int64_t i) { return i < valid ? begin + i : -1; },
                                             Padding::kFirstSample)));
    for (size_t k = 0; k < paths.size(); ++k) {
      const PartedValue& value = parts.at(outputs[k]);
      const size_t sample_bytes = value.info.bytes() / batch;
      const auto mine = local.find(outputs[k]);
      PDC_RETURN_IF_ERROR(GatherToRankZero(
          session.communicator(), session.deadline(), value, mine == local.end() ? nullptr : mine->second,
          [&](const std::byte* whole) {
            results[k].insert(results[k].end(), whole, whole + valid * sample_bytes);
            return absl::OkStatus();
          }));
    }
  }
  if (session.communicator().rank() != 0) return absl::OkStatus();
  for (size_t k = 0; k < paths.size(); ++k) {
    const PartedValue& value = parts.at(outputs[k]);
    Shape shape = value.info.shape;
    shape[0] = size;
    PDC_RETURN_IF_ERROR(WriteNpy(paths[k], value.info.type, shape, results[k].data()));
  }
  return absl::OkStatus();
}

}  // namespace pdc::train
