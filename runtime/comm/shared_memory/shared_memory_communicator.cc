#include "runtime/comm/shared_memory/shared_memory_communicator.h"

#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/comm/intranode/intranode_communicator.h"

namespace pdc::comm {

namespace {

static_assert(kMaxRanksOfNode == GroupRecord::kMaxRanks);

// Of the meetings before MPI calls that wait for all ranks.
constexpr std::chrono::seconds kSetupTimeout(60);
// Between Abort()'s notice to peers and the end of their processes: time to say what they were doing.
constexpr std::chrono::milliseconds kAbortGrace(200);
constexpr std::chrono::milliseconds kFollowerGrace(3000);

// Memory of all ranks in one MPI window.
struct Window {
  MPI_Win window = MPI_WIN_NULL;
  std::vector<std::byte*> base;  // of each rank's part, in this process, aligned to a page
  size_t bytes = 0;              // of this rank's part
};

// Collective over all ranks of `job`.
absl::StatusOr<Window> AllocateWindow(const MpiJob& job, size_t bytes) {
  Window result;
  result.bytes = bytes;
  MPI_Info info;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Info_create(&info), "MPI_Info_create"));
  // Every rank's part begins on a page of its own.
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  void* mine = nullptr;
  const auto padded = static_cast<MPI_Aint>(bytes + kPageBytes);
  const int code = MPI_Win_allocate_shared(padded, 1, info, job.node(), &mine, &result.window);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) {
    const absl::Status status = StatusOfMpi(code, "MPI_Win_allocate_shared");
    return absl::ResourceExhaustedError("cannot allocate " + std::to_string(bytes) +
                                        " bytes of shared memory on rank " + std::to_string(job.rank()) +
                                        ": " + std::string(status.message()) +
                                        "; free or enlarge /dev/shm, name another folder with mpiexec --mca "
                                        "osc_sm_backing_directory FOLDER, or run "
                                        "with --communicator=mpi");
  }
  result.base.resize(job.size());
  for (int rank = 0; rank < job.size(); ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    PDC_RETURN_IF_ERROR(
        StatusOfMpi(MPI_Win_shared_query(result.window, rank, &size, &unit, &base), "MPI_Win_shared_query"));
    // Processes map the window at different addresses, but at the same place within a page: all round up
    // alike.
    result.base[rank] = reinterpret_cast<std::byte*>(AlignUp(reinterpret_cast<uintptr_t>(base), kPageBytes));
  }
  return result;
}

class SharedMemoryCommunicator final : public IntranodeCommunicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(std::shared_ptr<MpiJob> job) {
    PDC_ASSIGN_OR_RETURN(Window control,
                         AllocateWindow(*job, job->rank() == 0 ? ControlBlock::Bytes(job->size()) : 0));
    if (job->rank() == 0) std::memset(control.base[0], 0, control.bytes);
    PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Barrier(job->node()), "MPI_Barrier"));
    std::unique_ptr<SharedMemoryCommunicator> created(
        new SharedMemoryCommunicator(std::move(job), std::move(control)));
    PDC_RETURN_IF_ERROR(created->Begin());
    return std::unique_ptr<Communicator>(std::move(created));
  }

  ~SharedMemoryCommunicator() override {
    if (!failed()) {
      absl::Status status = Barrier(Clock::now() + kSetupTimeout);
      if (!status.ok()) PDC_LOG(Error) << "at the end of the job: " << status.ToString();
    }
    StopThread();
    if (failed()) {
      // Freeing windows waits for all ranks.
      job_->MarkBroken();
      return;
    }
    for (Window& region : regions_) MPI_Win_free(&region.window);
    MPI_Win_free(&control_.window);
  }

  std::string name() const override { return "shared_memory"; }

  absl::StatusOr<void*> AllocateShared(size_t bytes) override {
    PDC_RETURN_IF_ERROR(Annotate(Barrier(Clock::now() + kSetupTimeout), "allocating shared memory"));
    PDC_ASSIGN_OR_RETURN(Window region, AllocateWindow(*job_, bytes));
    std::byte* mine = region.base[rank()];
    TouchOnHugePages(mine, bytes);
    std::lock_guard<std::mutex> lock(regions_mutex_);
    regions_.push_back(std::move(region));
    return static_cast<void*>(mine);
  }

  void Abort(const absl::Status& why) override {
    // The rank that fails first says why, before its peers know; they leave the end to it, and bring it about
    // themselves only when it does not.
    const bool follows = FollowsAbortOfPeer(why);
    if (!follows) MpiJob::Report(why);
    IntranodeCommunicator::Abort(why);
    if (size() > 1) std::this_thread::sleep_for(follows ? kFollowerGrace : kAbortGrace);
    MpiJob::End();
  }

 private:
  SharedMemoryCommunicator(std::shared_ptr<MpiJob> job, Window control)
      : IntranodeCommunicator(job->rank(), job->size(), ControlBlock(control.base[0], job->size())),
        job_(std::move(job)),
        control_(std::move(control)) {}

  absl::StatusOr<Location> Locate(const void* memory, size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(memory);
    std::lock_guard<std::mutex> lock(regions_mutex_);
    for (size_t i = 0; i < regions_.size(); ++i) {
      const std::byte* base = regions_[i].base[rank()];
      if (begin >= base && begin + bytes <= base + regions_[i].bytes) {
        return Location{static_cast<int32_t>(i), static_cast<uint64_t>(begin - base)};
      }
    }
    return absl::NotFoundError("not in shared memory");
  }

  std::byte* Resolve(int rank, const Location& location) override {
    std::lock_guard<std::mutex> lock(regions_mutex_);
    return regions_[location.region].base[rank] + location.offset;
  }

  const std::shared_ptr<MpiJob> job_;
  Window control_;
  std::mutex regions_mutex_;
  std::vector<Window> regions_;  // the same on all ranks
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> CreateSharedMemoryCommunicator(std::shared_ptr<MpiJob> job) {
  if (!job->one_node()) {
    return absl::FailedPreconditionError(
        "the shared-memory communicator needs all ranks on one node, and this job spans several; use "
        "--communicator=mpi");
  }
  if (job->size() > kMaxRanksOfNode) {
    return absl::FailedPreconditionError("the shared-memory communicator is for at most " +
                                         std::to_string(kMaxRanksOfNode) + " ranks, and this job has " +
                                         std::to_string(job->size()) + "; use --communicator=mpi");
  }
  return SharedMemoryCommunicator::Create(std::move(job));
}

}  // namespace pdc::comm
