// Kernels of the ABI of runtime/device/device.h, as a compiler would generate them.
#include <cstdint>

// y[10,3] := 2 x[10,3] by rows; adds 1 to workspace[row].
extern "C" void scale_rows(void* const* arguments, int64_t begin, int64_t end) {
  const auto* x = static_cast<const float*>(arguments[0]);
  auto* y = static_cast<float*>(arguments[1]);
  auto* count = static_cast<float*>(arguments[2]);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t i = row * 3; i < row * 3 + 3; ++i) y[i] = 2 * x[i];
    count[row] += 1;
  }
}
