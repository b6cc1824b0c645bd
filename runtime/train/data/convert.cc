#include "runtime/train/data/convert.h"

#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace pdc::train {
namespace {

using program::ElementType;

template <typename T>
T LoadAs(const std::byte* source, int64_t index) {
  T value;
  std::memcpy(&value, source + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void StoreAs(T value, std::byte* destination, int64_t index) {
  std::memcpy(destination + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

bool IsStoredFloat(StoredType type) {
  return type == StoredType::kF16 || type == StoredType::kF32 || type == StoredType::kF64;
}

bool IsFloat(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kBF16;
}

int64_t LoadInteger(StoredType type, const std::byte* source, int64_t index) {
  switch (type) {
    case StoredType::kU8:
      return LoadAs<uint8_t>(source, index);
    case StoredType::kI8:
      return LoadAs<int8_t>(source, index);
    case StoredType::kU16:
      return LoadAs<uint16_t>(source, index);
    case StoredType::kI32:
      return LoadAs<int32_t>(source, index);
    default:
      return LoadAs<int64_t>(source, index);
  }
}

double LoadNumber(StoredType type, const std::byte* source, int64_t index) {
  switch (type) {
    case StoredType::kF16:
      return ElementAsDouble(ElementType::kF16, source, index);
    case StoredType::kF32:
      return LoadAs<float>(source, index);
    case StoredType::kF64:
      return LoadAs<double>(source, index);
    default:
      return static_cast<double>(LoadInteger(type, source, index));
  }
}

void StoreFloat(ElementType type, double value, std::byte* destination, int64_t index) {
  switch (type) {
    case ElementType::kF64:
      return StoreAs(value, destination, index);
    case ElementType::kBF16:
      return StoreAs(FloatToBf16(static_cast<float>(value)), destination, index);
    default:
      return StoreAs(static_cast<float>(value), destination, index);
  }
}

template <typename T>
bool StoreChecked(int64_t value, std::byte* destination, int64_t index) {
  if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  StoreAs(static_cast<T>(value), destination, index);
  return true;
}

bool StoreInteger(ElementType type, int64_t value, std::byte* destination, int64_t index) {
  switch (type) {
    case ElementType::kI64:
      return StoreChecked<int64_t>(value, destination, index);
    case ElementType::kI32:
      return StoreChecked<int32_t>(value, destination, index);
    case ElementType::kI8:
      return StoreChecked<int8_t>(value, destination, index);
    case ElementType::kI1:
      return value <= 1 && StoreChecked<uint8_t>(value, destination, index);
    default:
      return StoreChecked<uint8_t>(value, destination, index);
  }
}

double ChannelValue(const std::vector<double>& values, int64_t channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : values[channel];
}

}  // namespace

absl::Status CheckConversion(StoredType from, ElementType to) {
  if (to == ElementType::kF16 || (IsStoredFloat(from) && !IsFloat(to))) {
    return absl::InvalidArgumentError(
        absl::StrCat("elements of type ", StoredTypeName(from), " cannot become ", ElementTypeName(to)));
  }
  return absl::OkStatus();
}

absl::Status Convert(StoredType from, const std::byte* source, int64_t count, int64_t channels,
                     const Normalization& normalization, ElementType to, std::byte* destination) {
  if (!IsFloat(to)) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t value = LoadInteger(from, source, i);
      if (!StoreInteger(to, value, destination, i)) {
        return absl::OutOfRangeError(
            absl::StrCat("the value ", value, " does not fit in ", ElementTypeName(to)));
      }
    }
    return absl::OkStatus();
  }
  const double range = from == StoredType::kU8 ? 255 : 1;
  const int64_t channel_elements = count / channels;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const double mean = ChannelValue(normalization.mean, channel, 0);
    const double deviation = ChannelValue(normalization.deviation, channel, 1);
    const int64_t begin = channel * channel_elements;
    for (int64_t i = begin; i < begin + channel_elements; ++i) {
      StoreFloat(to, (LoadNumber(from, source, i) / range - mean) / deviation, destination, i);
    }
  }
  return absl::OkStatus();
}

void FillConstant(ElementType to, double value, int64_t count, std::byte* destination) {
  for (int64_t i = 0; i < count; ++i) {
    IsFloat(to) ? StoreFloat(to, value, destination, i)
                : static_cast<void>(StoreInteger(to, static_cast<int64_t>(value), destination, i));
  }
}

}  // namespace pdc::train
