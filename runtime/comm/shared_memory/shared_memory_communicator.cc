#include "runtime/comm/shared_memory/shared_memory_communicator.h"

#include <string>
#include <thread>
#include <utility>

#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/comm/intranode/intranode_communicator.h"
#include "runtime/comm/shared_memory/node_windows.h"

namespace pdc::comm {

namespace {

static_assert(kMaxRanksOfNode == GroupRecord::kMaxRanks);

class SharedMemoryCommunicator final : public IntranodeCommunicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(std::shared_ptr<MpiJob> job) {
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<NodeWindows> windows, NodeWindows::Create(job));
    std::unique_ptr<SharedMemoryCommunicator> created(
        new SharedMemoryCommunicator(std::move(job), std::move(windows)));
    PDC_RETURN_IF_ERROR(created->Begin());
    return std::unique_ptr<Communicator>(std::move(created));
  }

  ~SharedMemoryCommunicator() override {
    if (!failed()) {
      absl::Status status = Barrier(Clock::now() + job_->setup_timeout());
      if (!status.ok()) PDC_LOG(Error) << "at the end of the job: " << status.ToString();
    }
    StopThread();
    if (failed()) {
      // Freeing windows waits for all ranks.
      job_->MarkBroken();
      return;
    }
    windows_->Free();
  }

  std::string name() const override { return "shared_memory"; }

  absl::StatusOr<void*> AllocateShared(size_t bytes) override {
    PDC_RETURN_IF_ERROR(Annotate(Barrier(Clock::now() + job_->setup_timeout()), "allocating shared memory"));
    return windows_->Allocate(bytes);
  }

  void Abort(const absl::Status& why) override {
    // The rank that fails first says why, before its peers know; they leave the end to it, and bring it about
    // themselves only when it does not.
    const bool follows = transport().FollowsAbortOfPeer(why);
    if (!follows) MpiJob::Report(why);
    IntranodeCommunicator::Abort(why);
    if (size() > 1) std::this_thread::sleep_for(follows ? kFollowerGrace : kAbortGrace);
    MpiJob::End();
  }

 private:
  SharedMemoryCommunicator(std::shared_ptr<MpiJob> job, std::unique_ptr<NodeWindows> windows)
      : IntranodeCommunicator(job->rank(), job->size(), windows->control_block(), windows.get()),
        job_(std::move(job)),
        windows_(std::move(windows)) {}

  const std::shared_ptr<MpiJob> job_;
  const std::unique_ptr<NodeWindows> windows_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> CreateSharedMemoryCommunicator(std::shared_ptr<MpiJob> job) {
  if (!job->one_node()) {
    return absl::FailedPreconditionError(
        "the shared-memory communicator needs all ranks on one node, and this job spans several; use "
        "--communicator=auto");
  }
  if (job->size() > kMaxRanksOfNode) {
    return absl::FailedPreconditionError("the shared-memory communicator is for at most " +
                                         std::to_string(kMaxRanksOfNode) + " ranks, and this job has " +
                                         std::to_string(job->size()) + "; use --communicator=mpi");
  }
  return SharedMemoryCommunicator::Create(std::move(job));
}

}  // namespace pdc::comm
