// What communicators over MPI share: the communicators of groups, messages, and the question where a rank is.
#ifndef PDC_RUNTIME_COMM_MPI_MPI_CHANNELS_H_
#define PDC_RUNTIME_COMM_MPI_MPI_CHANNELS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/async_communicator.h"
#include "runtime/comm/mpi/mpi_exchange.h"
#include "runtime/comm/mpi/mpi_job.h"
#include "runtime/comm/mpi/position_service.h"

namespace pdc::comm {

// MPI wakes nobody: a thread with operations in flight looks again after at most this long.
inline constexpr std::chrono::microseconds kMpiLongestSleep(100);
// How often a rank without operations looks for questions of its peers.
inline constexpr std::chrono::milliseconds kMpiIdleSleep(20);
// Pieces in which collectives move buffers.
inline constexpr size_t kMpiPieceBytes = size_t{1} << 20;

// The tag of a collective's messages; different operations, and different phases of one, never match each other.
inline int TagOf(const Operation& operation, int phase) {
  return static_cast<int>(operation.kind) * 16 + phase;
}

class MpiChannels {
 public:
  // Collective over all ranks, as is End().
  absl::Status Begin(std::shared_ptr<MpiJob> job);
  void End();

  // The communicator of the ranks, counted as in `ranks`; collective over them, waits 60 s at most. For the
  // thread that starts operations. It lives until End().
  absl::StatusOr<MPI_Comm> CreateComm(const std::vector<int>& ranks, int index);
  // Of all ranks.
  MPI_Comm world() const { return world_; }

  // A send or a receive; uses Operation::phase.
  absl::StatusOr<Progress> StepMessage(Operation& operation, MpiExchange& exchange);

  // Answers one waiting question of a peer, if there is any.
  absl::Status Answer(Position mine) { return positions_.Answer(mine); }
  // Asks `members` where they are, waits a second, and says it: of those in `waited_for` (of all, when it is
  // empty) where they are, of all others only which did not answer. Empty when there is nothing to say.
  std::string DescribeMissing(const std::vector<int>& members, const std::vector<int>& waited_for,
                              Position mine);

 private:
  absl::Status Meet(const std::vector<int>& ranks, int index);

  std::shared_ptr<MpiJob> job_;
  MPI_Comm world_ = MPI_COMM_NULL;
  MPI_Comm messages_ = MPI_COMM_NULL;
  MPI_Comm meetings_ = MPI_COMM_NULL;
  PositionService positions_;
  std::vector<MPI_Comm> group_comms_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_MPI_CHANNELS_H_
