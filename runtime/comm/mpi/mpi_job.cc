#include "runtime/comm/mpi/mpi_job.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "absl/strings/numbers.h"
#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace pdc::comm {

namespace {

constexpr char kRanksPerNode[] = "PDC_RANKS_PER_NODE";

// On a busy machine processes that wait for nothing begin that far apart.
constexpr std::chrono::seconds kLeastSetupTimeout(10);

// As mpiexec says, before MPI does; -1 where it does not.
int RankOfEnvironment() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    int rank = -1;
    const char* text = std::getenv(variable);
    if (text != nullptr && absl::SimpleAtoi(text, &rank)) return rank;
  }
  return -1;
}

}  // namespace

absl::Status StatusOfMpi(int code, const std::string& what) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return absl::InternalError(what + ": " + std::string(text, length) + " (MPI error " + std::to_string(code) +
                             ")");
}

absl::StatusOr<std::shared_ptr<MpiJob>> MpiJob::Get(std::chrono::nanoseconds timeout) {
  static std::mutex mutex;
  static std::weak_ptr<MpiJob> current;
  std::lock_guard<std::mutex> lock(mutex);
  if (std::shared_ptr<MpiJob> job = current.lock()) return job;
  std::shared_ptr<MpiJob> job(new MpiJob(timeout));
  PDC_RETURN_IF_ERROR(job->Initialize());
  current = job;
  return job;
}

MpiJob::MpiJob(std::chrono::nanoseconds timeout)
    : setup_timeout_(std::max<std::chrono::nanoseconds>(timeout, kLeastSetupTimeout)), rank_(RankOfEnvironment()) {}

absl::Status MpiJob::Initialize() {
  const CallWatch watch = Watch("starting MPI");
  int finalized = 0;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Finalized(&finalized), "MPI_Finalized"));
  if (finalized != 0) return absl::FailedPreconditionError("MPI has already ended in this process");
  int provided = MPI_THREAD_SINGLE;
  PDC_RETURN_IF_ERROR(
      StatusOfMpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided), "MPI_Init_thread"));
  if (provided < MPI_THREAD_MULTIPLE) {
    return absl::FailedPreconditionError(
        "this MPI library does not support calls by several threads "
        "(MPI_THREAD_MULTIPLE); use Open MPI 4 or later");
  }
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup"));
  PDC_RETURN_IF_ERROR(
      StatusOfMpi(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_rank(world_, &rank_), "MPI_Comm_rank"));
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_size(world_, &size_), "MPI_Comm_size"));
  PDC_RETURN_IF_ERROR(FindNodes());
  SetLogRank(rank_);
  return absl::OkStatus();
}

absl::Status MpiJob::FindNodes() {
  PDC_RETURN_IF_ERROR(
      StatusOfMpi(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_),
                  "MPI_Comm_split_type"));
  if (const char* text = std::getenv(kRanksPerNode)) {
    int ranks_per_node = 0, index = 0;
    if (!absl::SimpleAtoi(text, &ranks_per_node) || ranks_per_node < 1) {
      return absl::InvalidArgumentError(std::string(kRanksPerNode) + "=" + text +
                                        ": expected a number of ranks");
    }
    MPI_Comm machine = node_;
    PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_rank(machine, &index), "MPI_Comm_rank"));
    PDC_RETURN_IF_ERROR(
        StatusOfMpi(MPI_Comm_split(machine, index / ranks_per_node, index, &node_), "MPI_Comm_split"));
    MPI_Comm_free(&machine);
  }
  // Every rank says which rank is the first of its node.
  std::vector<int> first_of(size_);
  int first = rank_;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Bcast(&first, 1, MPI_INT, 0, node_), "MPI_Bcast"));
  PDC_RETURN_IF_ERROR(
      StatusOfMpi(MPI_Allgather(&first, 1, MPI_INT, first_of.data(), 1, MPI_INT, world_), "MPI_Allgather"));
  node_count_ = 0;
  nodes_.resize(size_);
  for (int i = 0; i < size_; ++i) {
    nodes_[i] = first_of[i] == i ? node_count_++ : nodes_[first_of[i]];
    if (first_of[i] == first) node_ranks_.push_back(i);
  }
  return absl::OkStatus();
}

MpiJob::~MpiJob() {
  if (broken_.load() || world_ == MPI_COMM_NULL) return;
  const CallWatch watch = Watch("ending MPI");
  if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
  MPI_Comm_free(&world_);
  MPI_Finalize();
}

void MpiJob::Report(const absl::Status& why) { PDC_LOG(Error) << "the job ends: " << why.ToString(); }

void MpiJob::End() {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();  // MPI_Abort does not return
}

}  // namespace pdc::comm
