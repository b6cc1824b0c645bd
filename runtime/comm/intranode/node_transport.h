// Collectives and messages between ranks that can read and write each other's memory: threads of a process (inprocess/),
// or processes of a node (shared_memory/).
//
// Every collective has the same shape, with two meetings of the group (n ranks, S bytes a rank):
//
//   announce what and where | wait for all | move data | say finished | wait for all
//
//   all_reduce       rank i reduces slice i (of n) of all ranks' buffers, in the order of the group's ranks,
//   and writes
//                    the sum to slice i of all of them: each byte of a buffer is read once and written once
//   reduce_scatter   rank i reduces its own part of all buffers into its own buffer
//   all_gather       rank i copies the others' parts into its own buffer
//   all_to_all       rank i copies its block of each other's send buffer
//   broadcast        every rank copies the root's buffer
//
// Nothing depends on which rank comes first, so that all results are the same bits in every run.
// A message goes through a mailbox: zero-copy where the sender's memory is shared, else in pieces of 32 KiB. There are
// eight mailboxes from one rank to another, and any number of sends may be in flight. So that a message which somebody
// waits for is never held up by others that nobody receives yet, it may take the place of one that was not begun: the
// sender knows what it waits for itself, and a receiver publishes what it waits for (RankBoard::wanted).
#ifndef PDC_RUNTIME_COMM_INTRANODE_NODE_TRANSPORT_H_
#define PDC_RUNTIME_COMM_INTRANODE_NODE_TRANSPORT_H_

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/async_communicator.h"
#include "runtime/comm/intranode/control_block.h"

namespace pdc::comm {

// The memory that ranks of a node see of each other. Ranks are counted within the node.
class NodeMemory {
 public:
  virtual ~NodeMemory() = default;
  // NOT_FOUND when [memory, memory + bytes) does not lie in memory of this rank that peers can reach.
  virtual absl::StatusOr<Location> Locate(const void* memory, size_t bytes) = 0;
  // Where this rank sees `location` of the node's rank `index`.
  virtual std::byte* Resolve(int index, const Location& location) = 0;
};

// Its ranks() are counted within the node.
class NodeGroup final : public OrderedGroup {
 public:
  NodeGroup(std::vector<int> ranks, int index, int record)
      : OrderedGroup(std::move(ranks), index), record(record) {}
  const int record;  // its number in the control block
};

// Not thread-safe except where noted: communicators call it under their progress lock.
class NodeTransport {
 public:
  // `index` counts this rank within the node; `ranks` are the names of the node's ranks in error messages.
  NodeTransport(int index, std::vector<int> ranks, ControlBlock block, NodeMemory* memory);

  // `ranks` are different ranks of the node, this one among them. Does not wait for the other members. For the
  // thread that starts operations.
  absl::StatusOr<std::unique_ptr<NodeGroup>> CreateGroup(std::vector<int> ranks);

  // Any thread. Abort() lets Service() of all ranks of the node fail with ABORTED.
  void Abort(const absl::Status& why);
  absl::Status Service() const;
  // Whether `why` is nothing but the news that another rank of this node ended the job.
  bool FollowsAbortOfPeer(const absl::Status& why) const;

  // INVALID_ARGUMENT when the operation's memory cannot be reached by peers.
  absl::Status CheckMemory(const Operation& operation) const;

  absl::StatusOr<Progress> StepCollective(Operation& operation, NodeGroup& group);
  absl::StatusOr<Progress> StepSend(Operation& operation, int peer);
  absl::StatusOr<Progress> StepReceive(Operation& operation, int peer);

  // The parts of StepCollective(), for operations that do more between the two meetings. Operations of a group
  // must be numbered by Operation::sequence without gaps.
  static uint64_t AnnouncedStage(const Operation& operation) { return 2 * operation.sequence + 1; }
  static uint64_t FinishedStage(const Operation& operation) { return 2 * operation.sequence + 2; }
  absl::Status Announce(const Operation& operation, NodeGroup& group);
  void SetStage(NodeGroup& group, uint64_t stage);
  bool AllReached(const NodeGroup& group, uint64_t stage) const;
  // Once all have announced: FAILED_PRECONDITION unless they announced the same operation.
  absl::Status CheckAnnouncements(const Operation& operation, const NodeGroup& group) const;
  // Once all have announced: a member's Operation::data and Operation::send.
  std::byte* DataOf(const NodeGroup& group, int member) const;
  const std::byte* SendOf(const NodeGroup& group, int member) const;

  // "rank 2 (last at step 3) has not arrived": the members that have not reached the stage; empty if all have.
  std::string DescribeMissing(const NodeGroup& group, uint64_t stage) const;
  // "rank 2 (last at step 3) has not sent".
  std::string DescribeMissingPeer(const Operation& operation, int peer) const;

 private:
  void MoveData(const Operation& operation, const NodeGroup& group);
  void FillMailbox(Operation& operation, int peer, Mailbox& mailbox);
  int FindMailbox(const Operation& operation, int peer) const;
  // A mailbox to `peer`, if need be that of a message which can wait; -1: none.
  int ClaimMailbox(Operation& operation, int peer);
  bool IsUrgent(const Operation& operation, int peer) const;
  // Publishes that this rank waits for the message of `operation`.
  void AskFor(const Operation& operation, int peer);
  std::string Name(int index) const;

  const int index_;
  const std::vector<int> ranks_;
  const ControlBlock block_;
  NodeMemory* const memory_;
  std::map<std::vector<int>, int> instances_;  // how many groups of these ranks this rank has created
  std::vector<std::array<Operation*, ControlBlock::kMailboxes>> senders_;  // by peer and mailbox: whose message is there
  // For MoveData(); as long as the largest group.
  std::vector<std::byte*> data_of_;
  std::vector<const void*> sources_;
  std::vector<void*> outputs_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_INTRANODE_NODE_TRANSPORT_H_
