// Asks other ranks where they are in their programs, and answers them.
#ifndef PDC_RUNTIME_COMM_MPI_POSITION_SERVICE_H_
#define PDC_RUNTIME_COMM_MPI_POSITION_SERVICE_H_

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/comm/communicator.h"

namespace pdc::comm {

struct PeerPosition {
  int rank;
  bool answered = false;
  Position position;
};

// Used by one thread at a time.
class PositionService {
 public:
  // Collective over `world`.
  absl::Status Begin(MPI_Comm world);
  // Answers one waiting question, if there is any.
  absl::Status Answer(Position mine);
  // Asks `ranks`, and answers their questions meanwhile; returns when all have answered or after `timeout`.
  std::vector<PeerPosition> Ask(const std::vector<int>& ranks, Position mine,
                                std::chrono::nanoseconds timeout);
  void End();

 private:
  struct Message {
    int64_t step;
    int64_t instruction;
  };
  static constexpr int kQuestion = 0;
  static constexpr int kAnswer = 1;

  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Request question_ = MPI_REQUEST_NULL;
  // The last answer to each rank: sent while its request is not null.
  std::vector<Message> answers_;
  std::vector<MPI_Request> answer_requests_;
  // Where answers to Ask() arrive, perhaps after it gave up.
  std::vector<Message> replies_;
  std::vector<MPI_Request> reply_requests_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_POSITION_SERVICE_H_
