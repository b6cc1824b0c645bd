// Small exchanges between the ranks of a job outside of steps. All are collective over all ranks.
#ifndef PDC_RUNTIME_TRAIN_COLLECT_H_
#define PDC_RUNTIME_TRAIN_COLLECT_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace pdc::train {

// Rank 0's text on all ranks.
absl::StatusOr<std::string> BroadcastText(comm::Communicator& communicator, comm::Clock::time_point deadline,
                                          const std::string& text);

// One outcome for all ranks of something that each tried: OK when all are OK, or else the first error in rank
// order, with the rank before it when not all ranks failed alike. So a job that cannot begin says so once:
// see IsAgreed().
absl::Status AgreeOnStatus(comm::Communicator& communicator, comm::Clock::time_point deadline,
                           const absl::Status& mine);

// True for errors that AgreeOnStatus() returned: every rank has the same, no rank waits for another.
bool IsAgreed(const absl::Status& status);

// True on all ranks when `mine` is true on any.
absl::StatusOr<bool> OnAnyRank(comm::Communicator& communicator, comm::Clock::time_point deadline, bool mine);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_COLLECT_H_
