#include "runtime/comm/mpi/mpi_exchange.h"

#include <string>

#include "runtime/base/status.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

absl::Status MpiExchange::Send(MPI_Comm comm, const void* data, size_t bytes, int peer, int tag) {
  Item item{MPI_REQUEST_NULL, -1, 0};
  PDC_RETURN_IF_ERROR(StatusOfMpi(
      MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm, &item.request), "MPI_Isend"));
  items_.push_back(item);
  return absl::OkStatus();
}

absl::Status MpiExchange::Receive(MPI_Comm comm, void* data, size_t bytes, int peer, int tag) {
  Item item{MPI_REQUEST_NULL, peer, bytes};
  PDC_RETURN_IF_ERROR(StatusOfMpi(
      MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm, &item.request), "MPI_Irecv"));
  items_.push_back(item);
  return absl::OkStatus();
}

absl::Status MpiExchange::Broadcast(MPI_Comm comm, void* data, size_t bytes, int root) {
  Item item{MPI_REQUEST_NULL, -1, 0};
  PDC_RETURN_IF_ERROR(StatusOfMpi(
      MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm, &item.request), "MPI_Ibcast"));
  items_.push_back(item);
  return absl::OkStatus();
}

absl::StatusOr<bool> MpiExchange::Poll() {
  size_t kept = 0;
  for (Item& item : items_) {
    int done = 0;
    MPI_Status status;
    const int code = MPI_Test(&item.request, &done, &status);
    if (code != MPI_SUCCESS) {
      int error_class = MPI_ERR_UNKNOWN;
      MPI_Error_class(code, &error_class);
      if (error_class == MPI_ERR_TRUNCATE) {
        return absl::FailedPreconditionError("expected " + std::to_string(item.expected) +
                                             " bytes from rank " + std::to_string(item.source) +
                                             ", which sent more");
      }
      return StatusOfMpi(code, "MPI_Test");
    }
    if (done == 0) {
      items_[kept++] = item;
      continue;
    }
    if (item.source < 0) continue;
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (static_cast<size_t>(bytes) != item.expected) {
      return absl::FailedPreconditionError("expected " + std::to_string(item.expected) + " bytes from rank " +
                                           std::to_string(item.source) + ", which sent " +
                                           std::to_string(bytes));
    }
  }
  items_.resize(kept);
  return kept == 0;
}

std::vector<int> MpiExchange::PendingSources() const {
  std::vector<int> sources;
  for (const Item& item : items_) {
    if (item.source >= 0) sources.push_back(item.source);
  }
  return sources;
}

}  // namespace pdc::comm
