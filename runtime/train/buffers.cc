#include "runtime/train/buffers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pdc::train {
namespace {

using program::ElementType;

Shape ToShape(const flatbuffers::Vector<int64_t>* dims) {
  const absl::Span<const int64_t> span = program::Span(dims);
  return Shape(span.begin(), span.end());
}

template <typename T>
T Load(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

float F16ToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  float magnitude;
  if (exponent == 31) {
    magnitude =
        mantissa == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

}  // namespace

std::string ElementTypeName(ElementType type) { return std::string(program::ElementName(type)); }

int64_t ElementCount(const Shape& shape) {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

std::string ShapeText(const Shape& shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

std::string NameOf(const program::Buffer& buffer) { return std::string(program::Text(buffer.name())); }

Shape LocalShape(const program::Buffer& buffer) { return ToShape(buffer.shape()); }

Shape GlobalShape(const program::Buffer& buffer) {
  // A scalar and a shape that is not stated look the same; both mean the local shape.
  const Shape global = ToShape(buffer.global_shape());
  return global.empty() ? LocalShape(buffer) : global;
}

Shape DeclaredShape(const program::Buffer& buffer) {
  const Shape declared = ToShape(buffer.declared_shape());
  return declared.empty() ? GlobalShape(buffer) : declared;
}

Shape LocalStart(const program::Buffer& buffer) {
  const Shape start = ToShape(buffer.start());
  return start.empty() ? Shape(LocalShape(buffer).size(), 0) : start;
}

std::string PersistentName(const program::Buffer& buffer) {
  if (buffer.kind() != program::BufferKind::kOptimizerState) return NameOf(buffer);
  const std::string slot(program::Text(buffer.optimizer_slot()));
  return absl::StrCat("optimizer.", slot, ".", NameOf(buffer));
}

absl::Status ForEachContiguousRun(const Shape& global, const Shape& start, const Shape& local,
                                  const std::function<void(int64_t, int64_t, int64_t)>& run) {
  bool inside = global.size() == local.size() && start.size() == local.size();
  for (size_t i = 0; inside && i < local.size(); ++i) {
    inside = start[i] >= 0 && local[i] >= 0 && start[i] <= global[i] && local[i] <= global[i] - start[i];
  }
  if (!inside) {
    return absl::InvalidArgumentError(absl::StrCat("a part of shape ", ShapeText(local), " at ",
                                                   ShapeText(start), " does not lie inside a value of shape ",
                                                   ShapeText(global)));
  }
  const int64_t total = ElementCount(local);
  if (total == 0) return absl::OkStatus();

  // Trailing dimensions that the part covers whole join the dimension before them into one run.
  size_t outer = local.size();
  int64_t run_elements = 1;
  while (outer > 0) {
    --outer;
    run_elements *= local[outer];
    if (local[outer] != global[outer]) break;
  }
  Shape index(outer, 0);
  for (int64_t local_element = 0; local_element < total; local_element += run_elements) {
    int64_t global_element = 0;
    for (size_t i = 0; i < local.size(); ++i) {
      global_element = global_element * global[i] + start[i] + (i < outer ? index[i] : 0);
    }
    run(global_element, local_element, run_elements);
    for (size_t i = outer; i-- > 0;) {
      if (++index[i] < local[i]) break;
      index[i] = 0;
    }
  }
  return absl::OkStatus();
}

uint16_t FloatToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float Bf16ToFloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

double ElementAsDouble(ElementType type, const std::byte* data, int64_t index) {
  switch (type) {
    case ElementType::kF32:
      return Load<float>(data, index);
    case ElementType::kF64:
      return Load<double>(data, index);
    case ElementType::kBF16:
      return Bf16ToFloat(Load<uint16_t>(data, index));
    case ElementType::kF16:
      return F16ToFloat(Load<uint16_t>(data, index));
    case ElementType::kI32:
      return Load<int32_t>(data, index);
    case ElementType::kI64:
      return static_cast<double>(Load<int64_t>(data, index));
    case ElementType::kI8:
      return Load<int8_t>(data, index);
    case ElementType::kU8:
    case ElementType::kI1:
      return Load<uint8_t>(data, index);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace pdc::train
