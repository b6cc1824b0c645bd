// Communication between the processes of one node, through MPI shared-memory windows. MPI is only used to set
// the windows up and to end the job: data and signals are loads and stores (see intranode/).
#ifndef PDC_RUNTIME_COMM_SHARED_MEMORY_SHARED_MEMORY_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_SHARED_MEMORY_SHARED_MEMORY_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

inline constexpr int kMaxRanksOfNode = 256;

// Collective over all ranks. FAILED_PRECONDITION when the job spans several nodes; RESOURCE_EXHAUSTED when
// the system's folder for shared memory is full. Abort() lets the waits of peers fail with its reason, then
// ends all processes. The destructor waits for all ranks (60 s at most), except after a failure.
absl::StatusOr<std::unique_ptr<Communicator>> CreateSharedMemoryCommunicator(std::shared_ptr<MpiJob> job);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_SHARED_MEMORY_SHARED_MEMORY_COMMUNICATOR_H_
