#include "runtime/comm/job.h"

#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/hierarchical/hierarchical_communicator.h"
#include "runtime/comm/inprocess/world.h"
#include "runtime/comm/mpi/mpi_communicator.h"
#include "runtime/comm/mpi/mpi_job.h"
#include "runtime/comm/shared_memory/shared_memory_communicator.h"

namespace pdc::comm {

namespace {

// Process managers tell their children who they are in one of these.
bool StartedByProcessManager() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"}) {
    if (std::getenv(variable) != nullptr) return true;
  }
  return false;
}

// Whether no node has more ranks than can share memory.
bool FitsNodes(const MpiJob& job) {
  std::vector<int> ranks_of_node(job.size());
  for (int node : job.nodes()) {
    if (++ranks_of_node[node] > kMaxRanksOfNode) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> CreateForJob(const JobOptions& options) {
  const std::string& name = options.communicator;
  if (name != "auto" && name != "mpi" && name != "shared_memory" && name != "hierarchical") {
    return absl::InvalidArgumentError("unknown communicator '" + name +
                                      "'; expected auto, mpi, shared_memory or hierarchical");
  }
  if (name == "auto" && !StartedByProcessManager()) {
    PDC_ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Communicator>> world, CreateInProcessWorld(1));
    return std::move(world.front());
  }
  PDC_ASSIGN_OR_RETURN(std::shared_ptr<MpiJob> job, MpiJob::Get(options.setup_timeout));
  if (name == "shared_memory" || (name == "auto" && job->one_node() && job->size() <= kMaxRanksOfNode)) {
    return CreateSharedMemoryCommunicator(std::move(job));
  }
  if (name == "hierarchical" || (name == "auto" && !job->one_rank_per_node() && FitsNodes(*job))) {
    return CreateHierarchicalCommunicator(std::move(job));
  }
  return CreateMpiCommunicator(std::move(job));
}

}  // namespace pdc::comm
