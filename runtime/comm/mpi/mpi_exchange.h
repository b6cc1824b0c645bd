// A set of nonblocking MPI operations that is polled until all are done.
#ifndef PDC_RUNTIME_COMM_MPI_MPI_EXCHANGE_H_
#define PDC_RUNTIME_COMM_MPI_MPI_EXCHANGE_H_

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::comm {

// Messages travel in parts, all of which are started at once. MPI sends what is longer than its eager limit (64 KiB over TCP)
// only after the receiver has answered, and over TCP the answer waits behind all that the receiver itself is sending: two ranks
// that send to each other without a pause would take turns, at half the rate of the link. Parts below the limit wait for no
// answer. What comes for a rank that does not wait for it yet needs memory there, so that only messages of up to 4 MiB travel
// so; longer ones have parts of 256 KiB, whose answers come while other parts are on their way.
class MpiExchange {
 public:
  // `peer` is a rank of `comm`; `tag` is less than 2^30.
  absl::Status Send(MPI_Comm comm, const void* data, size_t bytes, int peer, int tag);
  absl::Status Receive(MPI_Comm comm, void* data, size_t bytes, int peer, int tag);
  // At most 2^31 - 1 bytes.
  absl::Status Broadcast(MPI_Comm comm, void* data, size_t bytes, int root);

  // True, and the set empty, when all are done. FAILED_PRECONDITION when a message of another size arrived.
  absl::StatusOr<bool> Poll();

  // The peers of receives that are not done.
  std::vector<int> PendingSources() const;

 private:
  struct Item {
    int source = -1;      // of a receive
    size_t before = 0;    // bytes of the message in earlier parts
    size_t expected = 0;  // bytes of the part that is received
  };
  absl::StatusOr<bool> Test();  // whether any was done
  absl::Status CheckDone(const Item& item, const MPI_Status& status) const;

  std::vector<MPI_Request> requests_;
  std::vector<Item> items_;  // of the requests
  std::vector<int> done_;    // indices, scratch
  std::vector<MPI_Status> statuses_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_MPI_EXCHANGE_H_
