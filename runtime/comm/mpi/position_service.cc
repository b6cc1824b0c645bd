#include "runtime/comm/mpi/position_service.h"

#include <thread>

#include "runtime/base/status.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

absl::Status PositionService::Begin(MPI_Comm world) {
  int size = 0;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_dup(world, &comm_), "MPI_Comm_dup"));
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_size(comm_, &size), "MPI_Comm_size"));
  answers_.resize(size);
  replies_.resize(size);
  answer_requests_.assign(size, MPI_REQUEST_NULL);
  reply_requests_.assign(size, MPI_REQUEST_NULL);
  return StatusOfMpi(MPI_Irecv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, kQuestion, comm_, &question_),
                     "MPI_Irecv");
}

absl::Status PositionService::Answer(Position mine) {
  int asked = 0;
  MPI_Status status;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Test(&question_, &asked, &status), "MPI_Test"));
  if (asked == 0) return absl::OkStatus();
  const int peer = status.MPI_SOURCE;
  int sent = 0;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Test(&answer_requests_[peer], &sent, MPI_STATUS_IGNORE), "MPI_Test"));
  if (sent != 0) {
    answers_[peer] = {mine.step, mine.instruction};
    PDC_RETURN_IF_ERROR(StatusOfMpi(
        MPI_Isend(&answers_[peer], sizeof(Message), MPI_BYTE, peer, kAnswer, comm_, &answer_requests_[peer]),
        "MPI_Isend"));
  }
  return StatusOfMpi(MPI_Irecv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, kQuestion, comm_, &question_),
                     "MPI_Irecv");
}

std::vector<PeerPosition> PositionService::Ask(const std::vector<int>& ranks, Position mine,
                                               std::chrono::nanoseconds timeout) {
  const Clock::time_point deadline = Clock::now() + timeout;
  std::vector<PeerPosition> result;
  for (int rank : ranks) {
    result.push_back({rank, false, {}});
    // Asked before, and not answered yet.
    if (reply_requests_[rank] != MPI_REQUEST_NULL) continue;
    MPI_Request question = MPI_REQUEST_NULL;
    if (MPI_Irecv(&replies_[rank], sizeof(Message), MPI_BYTE, rank, kAnswer, comm_, &reply_requests_[rank]) !=
            MPI_SUCCESS ||
        MPI_Isend(nullptr, 0, MPI_BYTE, rank, kQuestion, comm_, &question) != MPI_SUCCESS) {
      continue;
    }
    // It has no buffer to wait for.
    MPI_Request_free(&question);
  }
  size_t answered = 0;
  while (answered < result.size() && Clock::now() < deadline) {
    // The others may be asking, too; an error of theirs is no news in a message about an error.
    Answer(mine).IgnoreError();
    for (PeerPosition& peer : result) {
      int arrived = 0;
      if (peer.answered || reply_requests_[peer.rank] == MPI_REQUEST_NULL ||
          MPI_Test(&reply_requests_[peer.rank], &arrived, MPI_STATUS_IGNORE) != MPI_SUCCESS || arrived == 0) {
        continue;
      }
      peer.answered = true;
      peer.position = {replies_[peer.rank].step, static_cast<int32_t>(replies_[peer.rank].instruction)};
      ++answered;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return result;
}

void PositionService::End() {
  if (question_ != MPI_REQUEST_NULL) {
    MPI_Cancel(&question_);
    MPI_Wait(&question_, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&comm_);
}

}  // namespace pdc::comm
