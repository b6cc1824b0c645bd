// Communication between ranks of which several are on one node: inside a node through shared memory, between nodes
// by MPI messages, of which a node sends no more than it must (see spanning_collective.h). Groups within one node use
// shared memory alone.
//
// Reductions add the contributions of a node first, in the order of the group's ranks, then the sums of nodes, in the
// order of the nodes' first ranks in the group: fixed by the group and by where its ranks are. Where ranks of a node
// follow each other, maxima, integers and groups of one rank a node have the bits of the other communicators; sums of
// floating-point numbers over nodes with several ranks are associated differently.
#ifndef PDC_RUNTIME_COMM_HIERARCHICAL_HIERARCHICAL_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_HIERARCHICAL_HIERARCHICAL_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

// Collective over all ranks. FAILED_PRECONDITION when a node has more than 256 ranks; RESOURCE_EXHAUSTED when the
// system's folder for shared memory is full. Abort() lets the waits of peers on this node fail with its reason, then
// ends all processes. The destructor waits for all ranks (60 s at most), except after a failure.
absl::StatusOr<std::unique_ptr<Communicator>> CreateHierarchicalCommunicator(std::shared_ptr<MpiJob> job);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_HIERARCHICAL_HIERARCHICAL_COMMUNICATOR_H_
