#include "runtime/profile/loops.h"

#include <algorithm>

// One version for each instruction set; the program chooses when it starts, as generated kernels are made for the
// machine they run on.
#define PDC_FOR_EVERY_MACHINE \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4"), noinline))

namespace pdc::profile {

PDC_FOR_EVERY_MACHINE void Triad(float* __restrict a, const float* __restrict b, const float* __restrict c,
                                 int64_t count) {
  for (int64_t i = 0; i < count; ++i) a[i] = b[i] + 3.0f * c[i];
}

PDC_FOR_EVERY_MACHINE void Elementwise(float* __restrict y, const float* __restrict x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::max(2.0f * x[i] + 1.0f, 0.0f);
}

PDC_FOR_EVERY_MACHINE float Sum(const float* x, int64_t count) {
  constexpr int64_t kLanes = 64;
  float sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane];
  }
  for (; i < count; ++i) sums[0] += x[i];
  float sum = 0;
  for (float part : sums) sum += part;
  return sum;
}

}  // namespace pdc::profile
