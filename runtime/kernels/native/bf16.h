#ifndef PDC_RUNTIME_KERNELS_NATIVE_BF16_H_
#define PDC_RUNTIME_KERNELS_NATIVE_BF16_H_

#include <cstdint>
#include <cstring>

namespace pdc::kernels::native {

inline float Bf16ToFloat(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

// Round to nearest, ties to even; a NaN stays a NaN.
inline uint16_t FloatToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(nan ? (bits >> 16) | 0x40 : rounded);
}

}  // namespace pdc::kernels::native

#endif  // PDC_RUNTIME_KERNELS_NATIVE_BF16_H_
