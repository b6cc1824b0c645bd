#include "runtime/comm/intranode/intranode_communicator.h"

#include <numeric>
#include <utility>

#include "runtime/base/status.h"

namespace pdc::comm {

namespace {

// With operations in flight every change rings, so that this only bounds how late an expired deadline is
// seen.
constexpr std::chrono::milliseconds kLongestSleep(100);
// Without operations, how late a peer's Abort() is seen by the communication thread.
constexpr std::chrono::milliseconds kIdleSleep(1000);

std::vector<int> AllRanks(int size) {
  std::vector<int> all(size);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

IntranodeCommunicator::IntranodeCommunicator(int rank, int size, ControlBlock block, NodeMemory* memory)
    : AsyncCommunicator(rank, size, &block.board(rank), kLongestSleep, kIdleSleep),
      node_(rank, AllRanks(size), block, memory) {}

absl::Status IntranodeCommunicator::Begin() {
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<NodeGroup> world, node_.CreateGroup(AllRanks(size())));
  StartThread(std::move(world));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Group>> IntranodeCommunicator::CreateGroup(std::vector<int> ranks) {
  PDC_RETURN_IF_ERROR(CheckRanks(ranks).status());
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<NodeGroup> group, node_.CreateGroup(std::move(ranks)));
  return Adopt(std::move(group));
}

absl::StatusOr<Progress> IntranodeCommunicator::Step(Operation& operation) {
  if (operation.kind == OperationKind::kSend) return node_.StepSend(operation, operation.peer);
  if (operation.kind == OperationKind::kReceive) return node_.StepReceive(operation, operation.peer);
  return node_.StepCollective(operation, static_cast<NodeGroup&>(*operation.group));
}

std::string IntranodeCommunicator::DescribeMissing(Operation& operation) {
  if (operation.group == nullptr) return node_.DescribeMissingPeer(operation, operation.peer);
  const uint64_t stage = operation.phase == 2 ? NodeTransport::FinishedStage(operation)
                                              : NodeTransport::AnnouncedStage(operation);
  const std::string missing = node_.DescribeMissing(static_cast<const NodeGroup&>(*operation.group), stage);
  return missing.empty() ? "all ranks have arrived" : missing;
}

}  // namespace pdc::comm
