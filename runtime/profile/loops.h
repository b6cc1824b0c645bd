// Straight loops over memory, as generated kernels reach it: what elementwise work, reductions and copies are measured
// with.
#ifndef PDC_RUNTIME_PROFILE_LOOPS_H_
#define PDC_RUNTIME_PROFILE_LOOPS_H_

#include <cstdint>

namespace pdc::profile {

// STREAM's triad: a := b + 3 c. Moves 12 bytes an element.
void Triad(float* a, const float* b, const float* c, int64_t count);
// y := max(2 x + 1, 0). Moves 8 bytes an element.
void Elementwise(float* y, const float* x, int64_t count);
// The sum of x, in 64 partial sums. Moves 4 bytes an element.
float Sum(const float* x, int64_t count);

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_LOOPS_H_
