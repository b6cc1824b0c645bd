// Collectives between ranks that can read and write each other's memory: threads of a process (inprocess/),
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
// A message goes through a mailbox: zero-copy where the sender's memory is shared, else in pieces of 32 KiB.
#ifndef PDC_RUNTIME_COMM_INTRANODE_INTRANODE_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_INTRANODE_INTRANODE_COMMUNICATOR_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/async_communicator.h"
#include "runtime/comm/intranode/control_block.h"

namespace pdc::comm {

class IntranodeCommunicator : public AsyncCommunicator {
 public:
  absl::StatusOr<std::unique_ptr<Group>> CreateGroup(std::vector<int> ranks) final;
  void Abort(const absl::Status& why) override;

 protected:
  IntranodeCommunicator(int rank, int size, ControlBlock block);

  // Whether `why` is nothing but the news that another rank of this node ended the job.
  bool FollowsAbortOfPeer(const absl::Status& why) const;

  // Creates the group of all ranks and starts the communication thread.
  absl::Status Begin();

  // NOT_FOUND when [memory, memory + bytes) does not lie in memory of this rank that peers can reach.
  virtual absl::StatusOr<Location> Locate(const void* memory, size_t bytes) = 0;
  // Where this rank sees `location` of `rank`. Called under the progress lock.
  virtual std::byte* Resolve(int rank, const Location& location) = 0;

  absl::StatusOr<Progress> Step(Operation& operation) final;
  absl::Status Service() final;
  absl::Status CheckMemory(const Operation& operation) final;
  std::string DescribeMissing(Operation& operation) final;

 private:
  class NodeGroup;

  absl::StatusOr<std::unique_ptr<NodeGroup>> FindOrCreateGroup(std::vector<int> ranks);
  absl::StatusOr<Progress> StepCollective(Operation& operation, NodeGroup& group);
  absl::Status Announce(const Operation& operation, NodeGroup& group);
  absl::Status CheckAnnouncements(const Operation& operation, const NodeGroup& group) const;
  void MoveData(const Operation& operation, const NodeGroup& group);
  void SetStage(NodeGroup& group, uint64_t stage);
  bool AllReached(const NodeGroup& group, uint64_t stage) const;

  absl::StatusOr<Progress> StepSend(Operation& operation);
  void FillMailbox(Operation& operation, Mailbox& mailbox);
  absl::StatusOr<Progress> StepReceive(Operation& operation);
  int FindMailbox(const Operation& operation) const;

  ControlBlock block_;
  std::map<std::vector<int>, int> instances_;  // how many groups of these ranks this rank has created
  // For MoveData(); as long as the largest group.
  std::vector<std::byte*> data_of_;
  std::vector<const void*> sources_;
  std::vector<void*> outputs_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_INTRANODE_INTRANODE_COMMUNICATOR_H_
