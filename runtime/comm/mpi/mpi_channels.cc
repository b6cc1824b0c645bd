#include "runtime/comm/mpi/mpi_channels.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "runtime/base/status.h"

namespace pdc::comm {

namespace {

// How long a rank whose deadline expired waits for its peers' answers.
constexpr std::chrono::seconds kAnswerTimeout(1);
// Operation::phase of a message that has been given to MPI.
constexpr int kMessagePosted = 1;

}  // namespace

absl::Status MpiChannels::Begin(std::shared_ptr<MpiJob> job) {
  job_ = std::move(job);
  const CallWatch watch = job_->Watch("making the communicators of the job");
  for (MPI_Comm* comm : {&messages_, &meetings_, &world_}) {
    PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_dup(job_->world(), comm), "MPI_Comm_dup"));
  }
  return positions_.Begin(job_->world());
}

void MpiChannels::End() {
  const CallWatch watch = job_->Watch("freeing communicators");
  positions_.End();
  for (MPI_Comm& comm : group_comms_) MPI_Comm_free(&comm);
  for (MPI_Comm* comm : {&messages_, &meetings_, &world_}) MPI_Comm_free(comm);
}

// MPI_Comm_create_group waits without a deadline: the members meet first. All tell the first, which answers
// when the last one has come.
absl::Status MpiChannels::Meet(const std::vector<int>& ranks, int index) {
  const Clock::time_point deadline = Clock::now() + job_->setup_timeout();
  std::vector<int> agreed = ranks;
  MpiExchange exchange;
  auto wait = [&]() -> absl::Status {
    while (true) {
      PDC_ASSIGN_OR_RETURN(bool done, exchange.Poll());
      if (done) return absl::OkStatus();
      if (Clock::now() > deadline) {
        std::string missing;
        for (int peer : exchange.PendingSources()) missing += " " + std::to_string(peer);
        const auto waited = std::chrono::ceil<std::chrono::seconds>(job_->setup_timeout());
        return absl::DeadlineExceededError("rank " + std::to_string(job_->rank()) + " waited " +
                                           std::to_string(waited.count()) +
                                           " s to create a group; missing ranks:" + missing);
      }
      std::this_thread::sleep_for(kMpiLongestSleep);
    }
  };
  const size_t bytes = ranks.size() * sizeof(int);
  std::vector<int> others(ranks.size() * ranks.size());
  if (index == 0) {
    for (size_t i = 1; i < ranks.size(); ++i) {
      PDC_RETURN_IF_ERROR(exchange.Receive(meetings_, &others[i * ranks.size()], bytes, ranks[i], 0));
    }
    PDC_RETURN_IF_ERROR(wait());
    for (size_t i = 1; i < ranks.size(); ++i) {
      if (!std::equal(ranks.begin(), ranks.end(), &others[i * ranks.size()])) {
        return absl::FailedPreconditionError("rank " + std::to_string(ranks[i]) +
                                             " creates another group at the same time");
      }
    }
    for (size_t i = 1; i < ranks.size(); ++i) {
      PDC_RETURN_IF_ERROR(exchange.Send(meetings_, agreed.data(), bytes, ranks[i], 1));
    }
    return wait();
  }
  PDC_RETURN_IF_ERROR(exchange.Receive(meetings_, others.data(), bytes, ranks[0], 1));
  PDC_RETURN_IF_ERROR(exchange.Send(meetings_, agreed.data(), bytes, ranks[0], 0));
  return wait();
}

absl::StatusOr<MPI_Comm> MpiChannels::CreateComm(const std::vector<int>& ranks, int index) {
  PDC_RETURN_IF_ERROR(Meet(ranks, index));
  const CallWatch watch = job_->Watch("creating a group");
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_group(meetings_, &all), "MPI_Comm_group"));
  int code = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members);
  if (code == MPI_SUCCESS) {
    code = MPI_Comm_create_group(meetings_, members, /*tag=*/2, &comm);
    MPI_Group_free(&members);
  }
  MPI_Group_free(&all);
  PDC_RETURN_IF_ERROR(StatusOfMpi(code, "MPI_Comm_create_group"));
  PDC_RETURN_IF_ERROR(
      StatusOfMpi(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  group_comms_.push_back(comm);
  return comm;
}

absl::StatusOr<Progress> MpiChannels::StepMessage(Operation& operation, MpiExchange& exchange) {
  if (operation.phase == kMessagePosted) {
    PDC_ASSIGN_OR_RETURN(bool done, exchange.Poll());
    return done ? Progress::kDone : Progress::kBlocked;
  }
  if (operation.kind == OperationKind::kSend) {
    PDC_RETURN_IF_ERROR(exchange.Send(messages_, operation.send, operation.bytes, operation.peer, operation.tag));
  } else {
    PDC_RETURN_IF_ERROR(exchange.Receive(messages_, operation.data, operation.bytes, operation.peer, operation.tag));
  }
  operation.phase = kMessagePosted;
  return Progress::kMoved;
}

std::string MpiChannels::DescribeMissing(const std::vector<int>& members, const std::vector<int>& waited_for,
                                         Position mine) {
  std::string late;
  std::string silent;
  for (const PeerPosition& answer : positions_.Ask(members, mine, kAnswerTimeout)) {
    const bool waited =
        waited_for.empty() || std::count(waited_for.begin(), waited_for.end(), answer.rank) > 0;
    if (answer.answered && waited) late += (late.empty() ? "" : ", ") + RankAt(answer.rank, answer.position);
    if (!answer.answered) silent += (silent.empty() ? "rank " : ", rank ") + std::to_string(answer.rank);
  }
  std::string text;
  if (!late.empty()) text = (waited_for.empty() ? "waiting for " : "nothing came from ") + late;
  if (!silent.empty()) {
    text += (text.empty() ? "" : "; ") + silent + " did not answer within " +
            std::to_string(kAnswerTimeout.count()) + " s (stopped, dead or cut off)";
  }
  return text;
}

}  // namespace pdc::comm
