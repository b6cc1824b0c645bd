#include "runtime/train/program_io.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"
#include "runtime/train/initialize.h"
#include "runtime/train/philox.h"

namespace pdc::train {
namespace {

using program::BufferKind;
using program::ElementType;
using program::Mode;

constexpr uint32_t kSyntheticIds = 10;

bool IsInteger(ElementType type) {
  return type == ElementType::kI32 || type == ElementType::kI64 || type == ElementType::kI8 ||
         type == ElementType::kU8;
}

class MemoryDataset final : public Dataset {
 public:
  MemoryDataset(std::vector<Field> fields, std::vector<std::vector<std::byte>> contents, int64_t size)
      : fields_(std::move(fields)), contents_(std::move(contents)), size_(size) {}

  const std::vector<Field>& fields() const override { return fields_; }
  int64_t size() const override { return size_; }
  const std::byte* data(int64_t sample, size_t field) const override {
    return contents_[field].data() + sample * (contents_[field].size() / size_);
  }
  std::string Place(int64_t sample, size_t field) const override {
    return absl::StrCat("sample ", sample, " of synthetic '", fields_[field].name, "'");
  }

 private:
  std::vector<Field> fields_;
  std::vector<std::vector<std::byte>> contents_;
  int64_t size_;
};

// The value of a scalar input of one step.
absl::Status SetScalar(const exec::BufferView& view, const Scalars& scalars) {
  const std::string name = NameOf(*view.description);
  if (name == "seed") {
    const std::array<uint32_t, 4> words = Philox4x32({LowWord(scalars.step), HighWord(scalars.step), 0, 0},
                                                     {LowWord(scalars.seed), HighWord(scalars.seed)});
    const int64_t seed = static_cast<int64_t>(words[0]) | static_cast<int64_t>(words[1] >> 1) << 32;
    std::memcpy(view.data, &seed, sizeof(seed));
    return absl::OkStatus();
  }
  if (name != "learning_rate" && name != "step") {
    return absl::UnimplementedError(absl::StrCat("the program takes a scalar input '", name,
                                                 "'; this runtime knows learning_rate, step and seed"));
  }
  const float value = static_cast<float>(name == "step" ? scalars.step : scalars.learning_rate);
  std::memcpy(view.data, &value, sizeof(value));
  return absl::OkStatus();
}

bool IsScalarOutput(const program::Buffer& buffer) {
  return buffer.kind() == BufferKind::kOutput && !buffer.parameter() && ElementCount(LocalShape(buffer)) == 1;
}

}  // namespace

absl::StatusOr<const program::Program*> RequireProgram(const program::Executable& executable, int rank,
                                                       Mode mode) {
  const program::Program* program = program::FindProgram(executable, rank, mode);
  if (program != nullptr) return program;
  return absl::NotFoundError(absl::StrCat("the executable was compiled without the program '",
                                          std::string(program::ModeName(mode)),
                                          "'; compile the model again with the --mode of pdc that has it"));
}

exec::InputWriter InputsOf(const BatchBuilder& batches, std::function<int64_t(int64_t)> sample_at, Padding padding) {
  return [&batches, sample_at = std::move(sample_at), padding](size_t part, std::byte* destination) {
    return batches.Fill(part, sample_at, padding, destination);
  };
}

exec::InputWriter InputsOf(Prefetcher& prefetcher, const BatchBuilder& batches) {
  return [&prefetcher, bytes = batches.bytes()](size_t part, std::byte* destination) -> absl::Status {
    PDC_ASSIGN_OR_RETURN(const std::byte* filled, prefetcher.Wait(part));
    std::memcpy(destination, filled, bytes[part]);
    return absl::OkStatus();
  };
}

absl::Status SetScalars(exec::Session& session, Mode mode, const Scalars& scalars) {
  for (const exec::BufferView& view : session.buffers(mode, BufferKind::kScalarInput)) {
    PDC_RETURN_IF_ERROR(SetScalar(view, scalars));
  }
  return absl::OkStatus();
}

std::map<std::string, double> ScalarOutputs(exec::Session& session, Mode mode) {
  std::map<std::string, double> outputs;
  for (const exec::BufferView& view : session.buffers(mode, BufferKind::kOutput)) {
    if (!IsScalarOutput(*view.description)) continue;
    outputs[NameOf(*view.description)] = ElementAsDouble(view.description->element_type(), view.data, 0);
  }
  return outputs;
}

absl::StatusOr<std::string> LossName(const program::Program& program) {
  std::string first;
  bool found = false;
  for (uint32_t i = 0; i < program::Size(program.buffers()); ++i) {
    const program::Buffer& buffer = *program.buffers()->Get(i);
    if (!IsScalarOutput(buffer)) continue;
    if (NameOf(buffer) == "loss") return std::string("loss");
    if (!found) first = NameOf(buffer);
    found = true;
  }
  if (found) return first;
  return absl::NotFoundError("the model has no scalar output that could be its loss");
}

absl::Status InitializeAll(exec::Session& session, Mode mode, uint64_t seed) {
  for (BufferKind kind : {BufferKind::kParameter, BufferKind::kOptimizerState, BufferKind::kState}) {
    for (const exec::BufferView& view : session.buffers(mode, kind)) {
      PDC_RETURN_IF_ERROR(InitializeBuffer(*view.description, seed, view.data));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BatchBuilder>> OpenBatches(const DataOptions& options,
                                                          const std::vector<std::string>& files, Split split,
                                                          bool overlapping_windows,
                                                          const program::Program& program) {
  PDC_ASSIGN_OR_RETURN(BatchInputs batch, BatchInputsOf(program));
  const std::vector<InputSpec>& inputs = batch.inputs;
  if (inputs.empty()) return absl::InvalidArgumentError("the model takes no data");
  if (files.empty()) return absl::InvalidArgumentError("no data file given");
  const bool ids = IsInteger(inputs[0].type);
  const DataFormat format = options.format == DataFormat::kAuto
                                ? GuessFormat(files[0], /*first_input_is_float=*/!ids)
                                : options.format;
  WindowOptions window;
  window.sequence = ids && inputs[0].sample_shape.size() == 1 ? inputs[0].sample_shape[0] : 0;
  window.stride = overlapping_windows ? 1 : window.sequence;
  window.split = split;
  window.validation_fraction = options.validation_fraction;
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Dataset> dataset, OpenDataset(files, format, window));
  return BatchBuilder::Create(std::move(dataset), std::move(batch), options.normalization);
}

std::shared_ptr<const Dataset> MakeSyntheticDataset(const std::vector<InputSpec>& inputs, int64_t samples,
                                                    uint64_t seed) {
  std::vector<Field> fields;
  std::vector<std::vector<std::byte>> contents;
  for (const InputSpec& input : inputs) {
    const int64_t count = samples * input.sample_elements();
    const bool ids = IsInteger(input.type) || input.type == ElementType::kI1;
    fields.push_back({input.name, ids ? StoredType::kI32 : StoredType::kF32, input.sample_shape});
    std::vector<std::byte>& data = contents.emplace_back(count * 4);
    if (!ids) {
      // Normal f32 values cannot fail.
      FillInitialValues({program::InitializerKind::kNormal, 0, 1}, seed, input.name, {count}, {0}, {count},
                        ElementType::kF32, data.data())
          .IgnoreError();
      continue;
    }
    const uint64_t hash = HashName(input.name);
    const uint32_t unbounded = input.type == ElementType::kI1 ? 2 : kSyntheticIds;
    const uint32_t range = input.id_limit > 0 ? static_cast<uint32_t>(input.id_limit) : unbounded;
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t word = Philox4x32({LowWord(i), HighWord(i), LowWord(hash), HighWord(hash)},
                                       {LowWord(seed), HighWord(seed)})[0];
      const int32_t id = static_cast<int32_t>(word % range);
      std::memcpy(data.data() + i * 4, &id, sizeof(id));
    }
  }
  return std::make_shared<MemoryDataset>(std::move(fields), std::move(contents), samples);
}

uint64_t ArenaBytes(const program::Executable& executable, int rank, Mode mode) {
  const program::Program* program = program::FindProgram(executable, rank, mode);
  return program == nullptr ? 0 : program->private_bytes() + program->shared_bytes();
}

}  // namespace pdc::train
