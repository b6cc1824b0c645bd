// The library calls as plain loops in f64: what tests compare the fast ones with. Slow, and never linked into
// an executable.
#ifndef PDC_RUNTIME_KERNELS_REFERENCE_REFERENCE_H_
#define PDC_RUNTIME_KERNELS_REFERENCE_REFERENCE_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/program_generated.h"

namespace pdc::kernels::reference {

// One address per operand, view offsets applied. Elements are f32, bf16 or (ids) i32. Does not check shapes:
// the call under test has accepted them. NOT_FOUND for a name that it does not know.
absl::Status Run(const program::Instruction& instruction, const std::vector<std::byte*>& operands);

}  // namespace pdc::kernels::reference

#endif  // PDC_RUNTIME_KERNELS_REFERENCE_REFERENCE_H_
