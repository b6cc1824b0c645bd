// Brings text of all ranks together: traces, reports. Not for the step.
#ifndef PDC_RUNTIME_COMM_GATHER_H_
#define PDC_RUNTIME_COMM_GATHER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace pdc::comm {

// The tag of its messages; programs must use others.
inline constexpr int kGatherTag = kMostTag;

// Collective over all ranks. Rank 0 gets all ranks' texts in the order of ranks, the others an empty list.
absl::StatusOr<std::vector<std::string>> GatherText(Communicator& communicator, const std::string& mine,
                                                    Clock::time_point deadline);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_GATHER_H_
