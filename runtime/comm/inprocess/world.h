// Ranks that are threads of one process: for tests, and for comparing a parallel program with a single-device
// one.
#ifndef PDC_RUNTIME_COMM_INPROCESS_WORLD_H_
#define PDC_RUNTIME_COMM_INPROCESS_WORLD_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace pdc::comm {

// Communicators 0 to `ranks` - 1 of one job, each to be used by one thread. They may be destroyed in any
// order. Abort() makes the waits of all of them fail with ABORTED; the process goes on.
absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> CreateInProcessWorld(int ranks);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_INPROCESS_WORLD_H_
