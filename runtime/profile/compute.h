// Measures what one core does: library calls as executables make them, and straight loops over memory.
#ifndef PDC_RUNTIME_PROFILE_COMPUTE_H_
#define PDC_RUNTIME_PROFILE_COMPUTE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/profile/sample.h"

namespace pdc::profile {

struct ComputePoint {
  std::string op_class;   // "matmul", "convolution", "pooling", "elementwise", "reduction", "gather", "copy"
  std::string precision;  // "f32", "bf16"
  std::string
      call;  // of library calls, as cluster files name them: "matmul(64x64:f32, 64x64:f32, 64x64:f32)"
  double flops = 0;
  double bytes = 0;  // read and written
  Sample sample;
};

// Library calls that arithmetic limits, on one thread; `quick` leaves out sizes and repetitions.
absl::StatusOr<std::vector<ComputePoint>> MeasureLibraryCalls(bool quick);
// Work that memory limits: loops by size, gathers.
absl::StatusOr<std::vector<ComputePoint>> MeasureMoves(bool quick);

// Numbers in f32 that a vector register of this processor holds, and so the block of channels that convolutions work on.
int64_t VectorLanes();

// The fixed cost of an instruction: a library call that has next to nothing to do.
absl::StatusOr<Sample> MeasureInstruction(bool quick);

// Of the triad over arrays that no cache holds.
absl::StatusOr<ComputePoint> MeasureMemory(bool quick);

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_COMPUTE_H_
