#include "runtime/program/view.h"

namespace pdc::program {
namespace {

std::string_view KindName(BufferKind kind) {
  switch (kind) {
    case BufferKind::kParameter:
      return "parameter";
    case BufferKind::kOptimizerState:
      return "optimizer_state";
    case BufferKind::kState:
      return "state";
    case BufferKind::kGradient:
      return "gradient";
    case BufferKind::kActivation:
      return "activation";
    case BufferKind::kTemporary:
      return "temporary";
    case BufferKind::kInput:
      return "input";
    case BufferKind::kScalarInput:
      return "scalar_input";
    case BufferKind::kOutput:
      return "output";
    case BufferKind::kConstant:
      return "constant";
  }
  return "unknown";
}

template <typename T, typename Attribute>
absl::Span<const T> Find(const flatbuffers::Vector<flatbuffers::Offset<Attribute>>* attributes,
                         std::string_view name) {
  if (attributes == nullptr) return {};
  for (const Attribute* attribute : *attributes) {
    if (Text(attribute->name()) == name) return Span(attribute->values());
  }
  return {};
}

}  // namespace

std::string_view ElementName(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return "f32";
    case ElementType::kF64:
      return "f64";
    case ElementType::kBF16:
      return "bf16";
    case ElementType::kF16:
      return "f16";
    case ElementType::kI32:
      return "i32";
    case ElementType::kI64:
      return "i64";
    case ElementType::kI8:
      return "i8";
    case ElementType::kU8:
      return "u8";
    case ElementType::kI1:
      return "i1";
  }
  return "unknown";
}

bool IsDense(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides) {
  int64_t expected = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    // Of a program that was not checked, the product may not fit: then there is no such view.
    if (__builtin_mul_overflow(expected, shape[i], &expected)) return false;
  }
  return true;
}

absl::Span<const int64_t> FindIntegers(const Instruction& instruction, std::string_view name) {
  return Find<int64_t>(instruction.integers(), name);
}

absl::Span<const double> FindFloats(const Instruction& instruction, std::string_view name) {
  return Find<double>(instruction.floats(), name);
}

int64_t FindInteger(const Instruction& instruction, std::string_view name, int64_t otherwise) {
  absl::Span<const int64_t> values = FindIntegers(instruction, name);
  return values.empty() ? otherwise : values.front();
}

double FindFloat(const Instruction& instruction, std::string_view name, double otherwise) {
  absl::Span<const double> values = FindFloats(instruction, name);
  return values.empty() ? otherwise : values.front();
}

std::string_view ModeName(Mode mode) {
  switch (mode) {
    case Mode::kTrain:
      return "train";
    case Mode::kGradient:
      return "gradient";
    case Mode::kEvaluate:
      return "evaluate";
    case Mode::kInfer:
      return "infer";
    case Mode::kReferenceGradient:
      return "reference_gradient";
  }
  return "unknown";
}

std::string BufferName(const Buffer& buffer) {
  std::string name(KindName(buffer.kind()));
  if (!Text(buffer.name()).empty()) name.append(" ").append(Text(buffer.name()));
  if (!Text(buffer.optimizer_slot()).empty()) name.append(".").append(Text(buffer.optimizer_slot()));
  return name;
}

}  // namespace pdc::program
