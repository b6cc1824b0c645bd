// A set of nonblocking MPI operations that is polled until all are done.
#ifndef PDC_RUNTIME_COMM_MPI_MPI_EXCHANGE_H_
#define PDC_RUNTIME_COMM_MPI_MPI_EXCHANGE_H_

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::comm {

class MpiExchange {
 public:
  // `peer` is a rank of `comm`; at most 2^31 - 1 bytes.
  absl::Status Send(MPI_Comm comm, const void* data, size_t bytes, int peer, int tag);
  absl::Status Receive(MPI_Comm comm, void* data, size_t bytes, int peer, int tag);
  absl::Status Broadcast(MPI_Comm comm, void* data, size_t bytes, int root);

  // True, and the set empty, when all are done. FAILED_PRECONDITION when a message of another size arrived.
  absl::StatusOr<bool> Poll();

  // The peers of receives that are not done.
  std::vector<int> PendingSources() const;

 private:
  struct Item {
    MPI_Request request;
    int source;       // of a receive, else -1
    size_t expected;  // bytes of a receive
  };
  std::vector<Item> items_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_MPI_EXCHANGE_H_
