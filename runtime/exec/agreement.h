// Before anything is computed, all ranks make sure that they run the same payload.
#ifndef PDC_RUNTIME_EXEC_AGREEMENT_H_
#define PDC_RUNTIME_EXEC_AGREEMENT_H_

#include <string>

#include "absl/status/status.h"
#include "runtime/comm/communicator.h"

namespace pdc::exec {

// Collective over all ranks; `text` has the same length on all of them. FAILED_PRECONDITION, on every rank,
// names the ranks whose text differs from rank 0's.
absl::Status CompareOverRanks(comm::Communicator& communicator, const std::string& text,
                              comm::Clock::time_point deadline);

}  // namespace pdc::exec

#endif  // PDC_RUNTIME_EXEC_AGREEMENT_H_
