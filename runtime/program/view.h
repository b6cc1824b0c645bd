// Small helpers to read the tables of program.fbs: FlatBuffers leaves out empty vectors and strings, so an
// accessor may return null where the table means "empty".
#ifndef PDC_RUNTIME_PROGRAM_VIEW_H_
#define PDC_RUNTIME_PROGRAM_VIEW_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "runtime/program/program_generated.h"

namespace pdc::program {

// Bytes of one element; i1 takes a whole byte. 0 for a value that is no element type.
constexpr int64_t ElementBytes(ElementType type) {
  switch (type) {
    case ElementType::kF64:
    case ElementType::kI64:
      return 8;
    case ElementType::kF32:
    case ElementType::kI32:
      return 4;
    case ElementType::kBF16:
    case ElementType::kF16:
      return 2;
    case ElementType::kI8:
    case ElementType::kU8:
    case ElementType::kI1:
      return 1;
  }
  return 0;
}

// "f32", "bf16", ...
std::string_view ElementName(ElementType type);

inline std::string_view Text(const flatbuffers::String* string) {
  return string == nullptr ? std::string_view() : std::string_view(string->c_str(), string->size());
}

template <typename T>
absl::Span<const T> Span(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? absl::Span<const T>() : absl::MakeConstSpan(vector->data(), vector->size());
}

template <typename T>
uint32_t Size(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? 0 : vector->size();
}

// The product of the dimensions; 1 for a scalar. The checker has made sure that it fits.
inline int64_t ElementCount(absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (int64_t dimension : shape) count *= dimension;
  return count;
}

// True when the view covers its elements one after the other in row-major order.
bool IsDense(absl::Span<const int64_t> shape, absl::Span<const int64_t> strides);

// The attribute's values; empty when the instruction has no attribute of this name.
absl::Span<const int64_t> FindIntegers(const Instruction& instruction, std::string_view name);
absl::Span<const double> FindFloats(const Instruction& instruction, std::string_view name);
// The first value, or `otherwise` when there is no such attribute.
int64_t FindInteger(const Instruction& instruction, std::string_view name, int64_t otherwise);
double FindFloat(const Instruction& instruction, std::string_view name, double otherwise);

// Parameters, optimizer state and model state keep their contents over steps.
constexpr bool IsPersistent(BufferKind kind) {
  return kind == BufferKind::kParameter || kind == BufferKind::kOptimizerState || kind == BufferKind::kState;
}

// "train", "gradient", "evaluate", "infer", "reference_gradient".
std::string_view ModeName(Mode mode);

// "parameter fc1.weight", "optimizer_state fc1.weight.m": how errors and dumps call a buffer.
std::string BufferName(const Buffer& buffer);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_VIEW_H_
