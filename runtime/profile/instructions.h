// Measures what the instructions of executables take, as plans that make the same calls will run them.
#ifndef PDC_RUNTIME_PROFILE_INSTRUCTIONS_H_
#define PDC_RUNTIME_PROFILE_INSTRUCTIONS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "runtime/launcher/image.h"
#include "runtime/profile/sample.h"
#include "runtime/program/program_generated.h"

namespace pdc::profile {

// What a rank of the executable runs in a step of training, or of inference where it trains nothing; null if it does neither.
const program::Program* FindStep(const program::Executable& executable, int rank);

// Of one of the image's programs, what it computes: its instructions in their order, in arenas of the planned size, without
// those that communicate, again and again. So each finds in the caches what it will find there in a step. Adds a sample for
// each different call (program::CallName), over all times that it was made, to `calls`. Parameters and inputs are zeros, ids
// are spread over their tables.
absl::Status MeasureInstructions(const launcher::Image& image, const program::Program& program, bool quick,
                                 std::map<std::string, Sample>* calls);

}  // namespace pdc::profile

#endif  // PDC_RUNTIME_PROFILE_INSTRUCTIONS_H_
