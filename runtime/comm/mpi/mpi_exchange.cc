#include "runtime/comm/mpi/mpi_exchange.h"

#include <algorithm>
#include <string>

#include "runtime/base/status.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

namespace {

// Below Open MPI's eager limit over TCP, with its headers.
constexpr size_t kEagerPartBytes = size_t{60} << 10;
constexpr size_t kLongPartBytes = size_t{256} << 10;
constexpr size_t kMostEagerBytes = size_t{4} << 20;

// The last part of a message has a tag of its own: a message of more or fewer parts than expected is never taken for the right
// one.
int TagOfPart(int tag, bool is_last) { return 2 * tag + (is_last ? 1 : 0); }

// Calls `start(offset, bytes, tag)` for each part; once for a message of no bytes.
template <typename Start>
absl::Status ForEachPart(size_t bytes, int tag, Start start) {
  const size_t most = bytes <= kMostEagerBytes ? kEagerPartBytes : kLongPartBytes;
  size_t offset = 0;
  while (bytes - offset > most) {
    PDC_RETURN_IF_ERROR(start(offset, most, TagOfPart(tag, false)));
    offset += most;
  }
  return start(offset, bytes - offset, TagOfPart(tag, true));
}

}  // namespace

absl::Status MpiExchange::Send(MPI_Comm comm, const void* data, size_t bytes, int peer, int tag) {
  return ForEachPart(bytes, tag, [&](size_t offset, size_t count, int part_tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(static_cast<const std::byte*>(data) + offset, static_cast<int>(count), MPI_BYTE, peer,
                               part_tag, comm, &request);
    requests_.push_back(request);
    items_.emplace_back();
    return StatusOfMpi(code, "MPI_Isend");
  });
}

absl::Status MpiExchange::Receive(MPI_Comm comm, void* data, size_t bytes, int peer, int tag) {
  return ForEachPart(bytes, tag, [&](size_t offset, size_t count, int part_tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Irecv(static_cast<std::byte*>(data) + offset, static_cast<int>(count), MPI_BYTE, peer, part_tag,
                               comm, &request);
    requests_.push_back(request);
    items_.push_back({peer, offset, count});
    return StatusOfMpi(code, "MPI_Irecv");
  });
}

absl::Status MpiExchange::Broadcast(MPI_Comm comm, void* data, size_t bytes, int root) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Ibcast(data, static_cast<int>(bytes), MPI_BYTE, root, comm, &request);
  requests_.push_back(request);
  items_.emplace_back();
  return StatusOfMpi(code, "MPI_Ibcast");
}

absl::Status MpiExchange::CheckDone(const Item& item, const MPI_Status& status) const {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(status.MPI_ERROR, &error_class);
  if (error_class != MPI_SUCCESS && error_class != MPI_ERR_TRUNCATE) return StatusOfMpi(status.MPI_ERROR, "MPI_Testsome");
  if (item.source < 0) return absl::OkStatus();
  const std::string expected = "expected " + std::to_string(item.before + item.expected) + " bytes from rank " +
                               std::to_string(item.source) + ", which sent ";
  if (error_class == MPI_ERR_TRUNCATE) return absl::FailedPreconditionError(expected + "more");
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  if (static_cast<size_t>(bytes) == item.expected) return absl::OkStatus();
  return absl::FailedPreconditionError(expected + std::to_string(item.before + static_cast<size_t>(bytes)));
}

absl::StatusOr<bool> MpiExchange::Poll() {
  // MPI moves little more than a part a call: as long as parts come there is no reason to sleep.
  bool moved = true;
  while (moved && !requests_.empty()) {
    PDC_ASSIGN_OR_RETURN(moved, Test());
  }
  return requests_.empty();
}

absl::StatusOr<bool> MpiExchange::Test() {
  const size_t all = requests_.size();
  done_.resize(all);
  statuses_.resize(all);
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(all), requests_.data(), &count, done_.data(), statuses_.data());
  const bool has_errors = code == MPI_ERR_IN_STATUS;
  if (!has_errors) PDC_RETURN_IF_ERROR(StatusOfMpi(code, "MPI_Testsome"));
  for (int i = 0; i < count; ++i) {
    if (!has_errors) statuses_[i].MPI_ERROR = MPI_SUCCESS;  // not set otherwise
    PDC_RETURN_IF_ERROR(CheckDone(items_[done_[i]], statuses_[i]));
  }
  // Those that are done are null now.
  size_t kept = 0;
  for (size_t i = 0; i < all; ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[kept] = requests_[i];
    items_[kept++] = items_[i];
  }
  requests_.resize(kept);
  items_.resize(kept);
  return kept < all;
}

std::vector<int> MpiExchange::PendingSources() const {
  std::vector<int> sources;
  for (const Item& item : items_) {
    if (item.source >= 0 && std::find(sources.begin(), sources.end(), item.source) == sources.end()) {
      sources.push_back(item.source);
    }
  }
  return sources;
}

}  // namespace pdc::comm
