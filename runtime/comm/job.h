// The communicator of the job that this process belongs to.
#ifndef PDC_RUNTIME_COMM_JOB_H_
#define PDC_RUNTIME_COMM_JOB_H_

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"

namespace pdc::comm {

struct JobOptions {
  // "auto": shared_memory when all ranks are on one node, hierarchical when some of several nodes have several
  // ranks, else mpi; a process that mpiexec did not start is a job of one rank and does without MPI. "mpi",
  // "shared_memory" or "hierarchical" force that one.
  std::string communicator = "auto";
  // How long ranks wait for each other before the first step and at the end, at least 10 s; then the job ends.
  std::chrono::nanoseconds setup_timeout = std::chrono::seconds(60);
};

// Collective over all ranks of the job. INVALID_ARGUMENT for an unknown name; FAILED_PRECONDITION when the
// named communicator cannot serve this job. Sets the rank that log lines show.
absl::StatusOr<std::unique_ptr<Communicator>> CreateForJob(const JobOptions& options = {});

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_JOB_H_
