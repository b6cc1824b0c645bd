#include "runtime/train/data/batch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/program/view.h"

namespace pdc::train {
namespace {

using program::ElementType;

bool IsInteger(ElementType type) {
  return type == ElementType::kI32 || type == ElementType::kI64 || type == ElementType::kI8 ||
         type == ElementType::kU8;
}

bool IsFloat(ElementType type) { return !IsInteger(type) && type != ElementType::kI1; }

Shape WithoutOnes(const Shape& shape) {
  Shape result;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(result), [](int64_t dim) { return dim != 1; });
  return result;
}

bool ShapesFit(const Shape& field, const Shape& input) {
  if (ElementCount(field) != ElementCount(input)) return false;
  const Shape a = WithoutOnes(field), b = WithoutOnes(input);
  return a == b || a.size() == 1 || b.size() == 1;
}

absl::Status CheckNormalization(const Normalization& normalization, const Field& field,
                                const InputSpec& input) {
  const auto check = [&](const std::vector<double>& values, const char* flag) -> absl::Status {
    if (values.empty()) return absl::OkStatus();
    if (!IsFloat(input.type)) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " needs a floating-point input; '", input.name,
                                                     "' is ", ElementTypeName(input.type)));
    }
    const int64_t channels = field.shape.empty() ? 1 : field.shape[0];
    if (values.size() != 1 && static_cast<int64_t>(values.size()) != channels) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " has ", values.size(),
                                                     " values; expected 1 or one for ", "each of the ",
                                                     channels, " channels of '", field.name, "'"));
    }
    return absl::OkStatus();
  };
  if (absl::Status status = check(normalization.mean, "--mean"); !status.ok()) return status;
  if (absl::Status status = check(normalization.deviation, "--std"); !status.ok()) return status;
  for (double deviation : normalization.deviation) {
    if (!(deviation > 0)) return absl::InvalidArgumentError("--std: every value must be above 0");
  }
  return absl::OkStatus();
}

std::string Describe(const std::vector<Field>& fields) {
  std::string text;
  for (const Field& field : fields) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "'", field.name, "' ", ShapeText(field.shape), " ",
                    StoredTypeName(field.type));
  }
  return text;
}

std::string Describe(const std::vector<InputSpec>& inputs) {
  std::string text;
  for (const InputSpec& input : inputs) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "'", input.name, "' ", ShapeText(input.sample_shape),
                    " ", ElementTypeName(input.type));
  }
  return text;
}

// Fails at the first element that is no id of the input.
absl::Status CheckIds(const InputSpec& input, const std::byte* values) {
  if (input.id_limit <= 0 || !IsInteger(input.type)) return absl::OkStatus();
  for (int64_t i = 0; i < input.sample_elements(); ++i) {
    const int64_t id = static_cast<int64_t>(ElementAsDouble(input.type, values, i));
    if ((id >= 0 && id < input.id_limit) || id == input.ignored_id) continue;
    return absl::OutOfRangeError(
        absl::StrCat(id, ", the element at ", i, ", is not one of 0 to ", input.id_limit - 1,
                     input.ignored_id ? absl::StrCat(", nor ", *input.ignored_id, ", which does not count")
                                      : std::string()));
  }
  return absl::OkStatus();
}

int64_t IgnoredId(const InputSpec& input) { return input.ignored_id.value_or(kIgnoreIndex); }

// Of an Input of a program, or of a kInput buffer where it states none.
template <typename Description>
InputSpec SpecOf(const Description& description, const Shape& whole) {
  InputSpec spec;
  spec.name = std::string(program::Text(description.name()));
  spec.type = description.element_type();
  if (!whole.empty()) {
    spec.batch = whole[0];
    spec.sample_shape.assign(whole.begin() + 1, whole.end());
  }
  spec.id_limit = description.id_limit();
  if (description.ignorable()) spec.ignored_id = description.ignored_id();
  return spec;
}

size_t FindInput(const std::vector<InputSpec>& inputs, const std::string& name) {
  return std::find_if(inputs.begin(), inputs.end(), [&](const InputSpec& input) { return input.name == name; }) -
         inputs.begin();
}

absl::StatusOr<InputPart> PartOf(const program::Buffer& buffer, const std::vector<InputSpec>& inputs) {
  const Shape global = GlobalShape(buffer), local = LocalShape(buffer), start = LocalStart(buffer);
  const std::string name = NameOf(buffer);
  if (global.empty() || local.size() != global.size() || start.size() != global.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input '", name, "' has no batch dimension"));
  }
  if (!std::equal(global.begin() + 1, global.end(), local.begin() + 1)) {
    return absl::UnimplementedError(
        absl::StrCat("input '", name, "' of shape ", ShapeText(global), " is split as ", ShapeText(local),
                     ": splits along other dimensions than the batch are not supported yet"));
  }
  return InputPart{FindInput(inputs, name), local[0], start[0]};
}

}  // namespace

absl::StatusOr<BatchInputs> BatchInputsOf(const program::Program& program) {
  BatchInputs result;
  for (uint32_t i = 0; i < program::Size(program.inputs()); ++i) {
    const program::Input& input = *program.inputs()->Get(i);
    const absl::Span<const int64_t> shape = program::Span(input.shape());
    result.inputs.push_back(SpecOf(input, Shape(shape.begin(), shape.end())));
  }
  for (uint32_t i = 0; i < program::Size(program.buffers()); ++i) {
    const program::Buffer& buffer = *program.buffers()->Get(i);
    if (buffer.kind() != program::BufferKind::kInput) continue;
    if (FindInput(result.inputs, NameOf(buffer)) == result.inputs.size()) {
      result.inputs.push_back(SpecOf(buffer, GlobalShape(buffer)));
    }
    PDC_ASSIGN_OR_RETURN(InputPart part, PartOf(buffer, result.inputs));
    result.parts.push_back(part);
  }
  return result;
}

int LabelInput(const std::vector<InputSpec>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name;
    const bool named = name == "label" || name == "labels" || name == "target" || name == "targets";
    if (named && IsInteger(inputs[i].type)) return static_cast<int>(i);
  }
  if (inputs.size() >= 2 && IsInteger(inputs.back().type)) return static_cast<int>(inputs.size()) - 1;
  return -1;
}

absl::StatusOr<std::unique_ptr<BatchBuilder>> BatchBuilder::Create(std::shared_ptr<const Dataset> dataset,
                                                                   BatchInputs batch_inputs,
                                                                   Normalization normalization) {
  const std::vector<InputSpec>& inputs = batch_inputs.inputs;
  const std::vector<Field>& fields = dataset->fields();
  if (fields.size() != inputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the data has ", fields.size(), " fields (",
                                                   Describe(fields), "), the model takes ", inputs.size(),
                                                   " inputs (", Describe(inputs), ")"));
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!ShapesFit(fields[i].shape, inputs[i].sample_shape)) {
      return absl::InvalidArgumentError(absl::StrCat("samples of '", fields[i].name, "' have shape ",
                                                     ShapeText(fields[i].shape), ", the model's input '",
                                                     inputs[i].name, "' takes samples of shape ",
                                                     ShapeText(inputs[i].sample_shape)));
    }
    if (absl::Status status = CheckConversion(fields[i].type, inputs[i].type); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("'", fields[i].name,
                                                     "' does not fit the model's input '", inputs[i].name,
                                                     "': ", status.message()));
    }
  }
  if (!inputs.empty()) {
    absl::Status status = CheckNormalization(normalization, fields[0], inputs[0]);
    if (!status.ok()) return status;
  }
  return std::unique_ptr<BatchBuilder>(
      new BatchBuilder(std::move(dataset), std::move(batch_inputs), std::move(normalization)));
}

std::vector<size_t> BatchBuilder::bytes() const {
  std::vector<size_t> sizes;
  for (const InputPart& part : parts_) sizes.push_back(part.samples * inputs_[part.input].sample_bytes());
  return sizes;
}

absl::Status BatchBuilder::FillSample(size_t field, int64_t sample, std::byte* destination) const {
  static const Normalization kNone;
  const InputSpec& input = inputs_[field];
  const Field& description = dataset_->fields()[field];
  const int64_t channels = description.shape.empty() ? 1 : description.shape[0];
  absl::Status status = Convert(description.type, dataset_->data(sample, field), input.sample_elements(),
                                channels, field == 0 ? normalization_ : kNone, input.type, destination);
  if (status.ok()) status = CheckIds(input, destination);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(dataset_->Place(sample, field), ", for input '", input.name,
                                                  "': ", status.message()));
}

absl::Status BatchBuilder::Fill(size_t part, const std::function<int64_t(int64_t)>& sample_at, Padding padding,
                                std::byte* destination) const {
  const InputPart& filled = parts_[part];
  const InputSpec& input = inputs_[filled.input];
  const bool is_label = static_cast<int>(filled.input) == LabelInput(inputs_);
  for (int64_t i = 0; i < filled.samples; ++i, destination += input.sample_bytes()) {
    const int64_t sample = sample_at(filled.first_sample + i);
    if (sample < 0 && padding == Padding::kIgnoredLabels) {
      FillConstant(input.type, is_label ? IgnoredId(input) : 0, input.sample_elements(), destination);
      continue;
    }
    absl::Status status = FillSample(filled.input, std::max<int64_t>(sample, 0), destination);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> BatchBuilder::CountedLabels(const std::function<int64_t(int64_t)>& sample_at) const {
  const int labels = LabelInput(inputs_);
  if (inputs_.empty()) return 0;
  int64_t counted = 0;
  std::vector<std::byte> converted(labels < 0 ? 0 : inputs_[labels].sample_bytes());
  for (int64_t i = 0; i < inputs_[0].batch; ++i) {
    const int64_t sample = sample_at(i);
    if (sample < 0) continue;
    if (labels < 0) {
      ++counted;
      continue;
    }
    const InputSpec& input = inputs_[labels];
    absl::Status status = FillSample(labels, sample, converted.data());
    if (!status.ok()) return status;
    for (int64_t j = 0; j < input.sample_elements(); ++j) {
      counted += ElementAsDouble(input.type, converted.data(), j) != IgnoredId(input);
    }
  }
  return counted;
}

}  // namespace pdc::train
