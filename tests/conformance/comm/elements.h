// Elements of all types as doubles, for tests.
#ifndef PDC_TESTS_CONFORMANCE_COMM_ELEMENTS_H_
#define PDC_TESTS_CONFORMANCE_COMM_ELEMENTS_H_

#include <bit>
#include <cstdint>

#include "runtime/program/program_generated.h"

namespace pdc::comm {

inline constexpr program::ElementType kAllTypes[] = {
    program::ElementType::kF32, program::ElementType::kF64, program::ElementType::kBF16,
    program::ElementType::kF16, program::ElementType::kI32, program::ElementType::kI64,
    program::ElementType::kI8,  program::ElementType::kU8,  program::ElementType::kI1};

// `value` is a whole number from 0 to 127, which every type but i1 holds exactly.
inline void Put(program::ElementType type, void* data, int64_t i, int value) {
  using program::ElementType;
  switch (type) {
    case ElementType::kF32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    case ElementType::kF64:
      static_cast<double*>(data)[i] = value;
      return;
    case ElementType::kBF16:
      static_cast<uint16_t*>(data)[i] =
          static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
      return;
    case ElementType::kF16:
      static_cast<_Float16*>(data)[i] = static_cast<_Float16>(value);
      return;
    case ElementType::kI32:
      static_cast<int32_t*>(data)[i] = value;
      return;
    case ElementType::kI64:
      static_cast<int64_t*>(data)[i] = value;
      return;
    case ElementType::kI8:
    case ElementType::kU8:
    case ElementType::kI1:
      static_cast<int8_t*>(data)[i] = static_cast<int8_t>(value);
      return;
  }
}

inline double Get(program::ElementType type, const void* data, int64_t i) {
  using program::ElementType;
  switch (type) {
    case ElementType::kF32:
      return static_cast<const float*>(data)[i];
    case ElementType::kF64:
      return static_cast<const double*>(data)[i];
    case ElementType::kBF16:
      return std::bit_cast<float>(uint32_t{static_cast<const uint16_t*>(data)[i]} << 16);
    case ElementType::kF16:
      return static_cast<float>(static_cast<const _Float16*>(data)[i]);
    case ElementType::kI32:
      return static_cast<const int32_t*>(data)[i];
    case ElementType::kI64:
      return static_cast<double>(static_cast<const int64_t*>(data)[i]);
    case ElementType::kI8:
      return static_cast<const int8_t*>(data)[i];
    case ElementType::kU8:
    case ElementType::kI1:
      return static_cast<const uint8_t*>(data)[i];
  }
  return 0;
}

}  // namespace pdc::comm

#endif  // PDC_TESTS_CONFORMANCE_COMM_ELEMENTS_H_
