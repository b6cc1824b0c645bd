// Communication between nodes, by nonblocking MPI calls.
//
// Reductions are ours, because MPI promises no order and has no bf16: a buffer is cut into one slice per
// rank, and each slice into pieces of at most 1 MiB. For each piece,
//
//   reduce_scatter   every rank sends its part of slice j to rank j, which adds all parts in the order of ranks
//   all_gather       rank j sends slice j to all
//   all_reduce       the two after each other
//
// as Thakur, Rabenseifner and Gropp ("Optimization of collective communication operations in MPICH", 2005) do
// for long vectors, with direct exchange: each rank sends and receives 2 (n-1)/n of the buffer. The bits are
// those of the other communicators. all_to_all is a direct exchange in pieces as well, broadcast is
// MPI_Ibcast in pieces.
//
// A rank whose deadline expires asks the others where they are, on a channel of its own, and waits a second
// for their answers: a rank that is only late says where it is, a stopped one does not answer.
#ifndef PDC_RUNTIME_COMM_MPI_MPI_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_MPI_MPI_COMMUNICATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/comm/communicator.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

// Collective over all ranks. Abort() ends all processes. The destructor waits for all ranks (60 s at most),
// except after a failure.
absl::StatusOr<std::unique_ptr<Communicator>> CreateMpiCommunicator(std::shared_ptr<MpiJob> job);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_MPI_COMMUNICATOR_H_
