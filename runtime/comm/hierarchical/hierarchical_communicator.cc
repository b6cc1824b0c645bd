#include "runtime/comm/hierarchical/hierarchical_communicator.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/logging.h"
#include "runtime/base/status.h"
#include "runtime/comm/async_communicator.h"
#include "runtime/comm/hierarchical/spanning_collective.h"
#include "runtime/comm/intranode/node_transport.h"
#include "runtime/comm/mpi/mpi_channels.h"
#include "runtime/comm/shared_memory/node_windows.h"

namespace pdc::comm {

namespace {

class HierarchicalCommunicator final : public AsyncCommunicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(std::shared_ptr<MpiJob> job);
  ~HierarchicalCommunicator() override;

  std::string name() const override { return "hierarchical"; }
  int node(int rank) const override { return job_->nodes()[rank]; }
  absl::StatusOr<void*> AllocateShared(size_t bytes) override;
  absl::StatusOr<std::unique_ptr<Group>> CreateGroup(std::vector<int> ranks) override;
  void Abort(const absl::Status& why) override;

 protected:
  absl::StatusOr<Progress> Step(Operation& operation) override;
  absl::Status Service() override;
  absl::Status CheckMemory(const Operation& operation) override { return node_.CheckMemory(operation); }
  std::string DescribeMissing(Operation& operation) override;

 private:
  HierarchicalCommunicator(std::shared_ptr<MpiJob> job, std::unique_ptr<NodeWindows> windows)
      : AsyncCommunicator(job->rank(), job->size(), &windows->control_block().board(windows->index()),
                          kMpiLongestSleep, kMpiIdleSleep),
        job_(std::move(job)),
        windows_(std::move(windows)),
        node_(windows_->index(), job_->node_ranks(), windows_->control_block(), windows_.get()) {}

  absl::Status Begin();
  absl::StatusOr<std::unique_ptr<HierarchicalGroup>> MakeGroup(std::vector<int> ranks, int index,
                                                               MPI_Comm comm);
  bool IsHere(int rank) const { return node(rank) == node(job_->rank()); }
  // Where a rank of this node is in node_ranks().
  int IndexOnNode(int rank) const {
    const std::vector<int>& ranks = job_->node_ranks();
    return static_cast<int>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
  }
  std::string DescribeMissingMembers(const Operation& operation, const HierarchicalGroup& group);

  const std::shared_ptr<MpiJob> job_;
  const std::unique_ptr<NodeWindows> windows_;
  NodeTransport node_;
  MpiChannels channels_;
  bool begun_ = false;
};

// Setting up.

absl::StatusOr<std::unique_ptr<Communicator>> HierarchicalCommunicator::Create(std::shared_ptr<MpiJob> job) {
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<NodeWindows> windows, NodeWindows::Create(job));
  std::unique_ptr<HierarchicalCommunicator> created(
      new HierarchicalCommunicator(std::move(job), std::move(windows)));
  PDC_RETURN_IF_ERROR(created->Begin());
  return std::unique_ptr<Communicator>(std::move(created));
}

absl::Status HierarchicalCommunicator::Begin() {
  PDC_RETURN_IF_ERROR(channels_.Begin(job_));
  std::vector<int> all(size());
  std::iota(all.begin(), all.end(), 0);
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<HierarchicalGroup> world,
                       MakeGroup(std::move(all), rank(), channels_.world()));
  StartThread(std::move(world));
  begun_ = true;
  return absl::OkStatus();
}

HierarchicalCommunicator::~HierarchicalCommunicator() {
  if (begun_ && !failed()) {
    absl::Status status = Barrier(Clock::now() + job_->setup_timeout());
    if (!status.ok()) PDC_LOG(Error) << "at the end of the job: " << status.ToString();
  }
  StopThread();
  if (!begun_ || failed()) {
    // Ending MPI and freeing windows wait for all ranks.
    job_->MarkBroken();
    return;
  }
  channels_.End();
  windows_->Free();
}

absl::StatusOr<void*> HierarchicalCommunicator::AllocateShared(size_t bytes) {
  PDC_RETURN_IF_ERROR(Annotate(Barrier(Clock::now() + job_->setup_timeout()), "allocating shared memory"));
  return windows_->Allocate(bytes);
}

absl::StatusOr<std::unique_ptr<HierarchicalGroup>> HierarchicalCommunicator::MakeGroup(std::vector<int> ranks,
                                                                                       int index,
                                                                                       MPI_Comm comm) {
  std::vector<int> nodes;
  std::vector<int> here;
  for (int rank : ranks) {
    nodes.push_back(node(rank));
    if (IsHere(rank)) here.push_back(IndexOnNode(rank));
  }
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<NodeGroup> members, node_.CreateGroup(std::move(here)));
  return std::make_unique<HierarchicalGroup>(std::move(ranks), index, PlacementOf(nodes), std::move(members),
                                             comm);
}

absl::StatusOr<std::unique_ptr<Group>> HierarchicalCommunicator::CreateGroup(std::vector<int> ranks) {
  PDC_ASSIGN_OR_RETURN(int index, CheckRanks(ranks));
  MPI_Comm comm = MPI_COMM_NULL;
  if (!std::all_of(ranks.begin(), ranks.end(), [this](int rank) { return IsHere(rank); })) {
    PDC_ASSIGN_OR_RETURN(comm, channels_.CreateComm(ranks, index));
  }
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<HierarchicalGroup> group, MakeGroup(std::move(ranks), index, comm));
  return Adopt(std::move(group));
}

// Operations.

absl::StatusOr<Progress> HierarchicalCommunicator::Step(Operation& operation) {
  if (operation.group != nullptr) {
    auto& group = static_cast<HierarchicalGroup&>(*operation.group);
    if (!group.spans_nodes()) return node_.StepCollective(operation, *group.node);
    if (operation.state == nullptr) operation.state = std::make_unique<SpanningCollective>();
    return static_cast<SpanningCollective&>(*operation.state).Step(operation, group, node_);
  }
  if (IsHere(operation.peer)) {
    const int peer = IndexOnNode(operation.peer);
    return operation.kind == OperationKind::kSend ? node_.StepSend(operation, peer)
                                                  : node_.StepReceive(operation, peer);
  }
  if (operation.state == nullptr) operation.state = std::make_unique<SpanningCollective>();
  return channels_.StepMessage(operation, static_cast<SpanningCollective&>(*operation.state).exchange);
}

absl::Status HierarchicalCommunicator::Service() {
  PDC_RETURN_IF_ERROR(node_.Service());
  return channels_.Answer(board().position());
}

void HierarchicalCommunicator::Abort(const absl::Status& why) {
  // As in shared_memory/: the rank that fails first says why, and ends the job.
  const bool follows = node_.FollowsAbortOfPeer(why);
  if (!follows) MpiJob::Report(why);
  node_.Abort(why);
  if (job_->node_ranks().size() > 1) std::this_thread::sleep_for(follows ? kFollowerGrace : kAbortGrace);
  MpiJob::End();
}

// Deadlines.

std::string HierarchicalCommunicator::DescribeMissing(Operation& operation) {
  if (operation.group != nullptr) {
    return DescribeMissingMembers(operation, static_cast<const HierarchicalGroup&>(*operation.group));
  }
  if (IsHere(operation.peer)) return node_.DescribeMissingPeer(operation, IndexOnNode(operation.peer));
  const std::string text = channels_.DescribeMissing({operation.peer}, {operation.peer}, board().position());
  return text.empty() ? "all ranks have answered" : text;
}

std::string HierarchicalCommunicator::DescribeMissingMembers(const Operation& operation,
                                                             const HierarchicalGroup& group) {
  std::string here;
  if (!group.spans_nodes()) {
    here =
        node_.DescribeMissing(*group.node, operation.phase == 2 ? NodeTransport::FinishedStage(operation)
                                                                : NodeTransport::AnnouncedStage(operation));
    return here.empty() ? "all ranks have arrived" : here;
  }
  std::vector<int> waited_for;
  if (const uint64_t stage = SpanningCollective::AwaitedStage(operation)) {
    here = node_.DescribeMissing(*group.node, stage);
  } else if (operation.state != nullptr) {
    for (int member : static_cast<SpanningCollective&>(*operation.state).PendingSources()) {
      waited_for.push_back(group.ranks()[member]);
    }
  }
  // Which ranks of other nodes are cut off or stopped is news also to those that wait for a peer of this node, which
  // waits for them.
  std::vector<int> elsewhere;
  for (int member : group.ranks()) {
    if (!IsHere(member)) elsewhere.push_back(member);
  }
  if (!here.empty()) waited_for = {rank()};  // no rank of another node
  const std::string there = channels_.DescribeMissing(elsewhere, waited_for, board().position());
  if (here.empty() && there.empty()) return "all ranks have answered";
  return here + (here.empty() || there.empty() ? "" : "; ") + there;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> CreateHierarchicalCommunicator(std::shared_ptr<MpiJob> job) {
  std::vector<int> ranks_of_node(job->size());
  for (int node : job->nodes()) {
    if (++ranks_of_node[node] > GroupRecord::kMaxRanks) {
      return absl::FailedPreconditionError(
          "a node of this job has more than " + std::to_string(GroupRecord::kMaxRanks) +
          " ranks, which the hierarchical communicator does not support; use "
          "--communicator=mpi");
    }
  }
  return HierarchicalCommunicator::Create(std::move(job));
}

}  // namespace pdc::comm
