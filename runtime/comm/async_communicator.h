// What all communicators share: operations that run beside the computation, their order, deadlines and
// failure.
//
// Started operations form a list. A pass over the list moves each one on as far as it goes without waiting
// (Step() of the transport). Passes are made by whoever has time for them: a thread in Wait(), or else the
// communication thread of the rank, which overlaps communication with computation; a send is first moved on by who starts
// it, so that its receiver has it at once. When nothing moves, both
// sleep on the rank's doorbell, which peers ring, so that a waiting rank leaves its processor to others.
//
// Order: operations of one group run one after the other, in the order in which they were started; so do
// sends to one (peer, tag) and receives from one (peer, tag). Different groups, peers and tags do not wait
// for each other.
//
// Failure: the first error (an expired deadline, different operations on different ranks, Abort() by a peer)
// ends all operations in flight and all later ones with the same status. A failed communicator can only be
// aborted or destroyed.
//
// Nothing is allocated once as many operations were in flight as ever will be: operations and handles are
// pooled.
#ifndef PDC_RUNTIME_COMM_ASYNC_COMMUNICATOR_H_
#define PDC_RUNTIME_COMM_ASYNC_COMMUNICATOR_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/comm/doorbell.h"

namespace pdc::comm {

enum class OperationKind : int32_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kBarrier,
  kSend,
  kReceive
};

// "all_reduce", "send", ...
const char* OperationName(OperationKind kind);

// A group whose operations are numbered; transports derive from it. It lives as long as its communicator,
// because operations may be in flight when the caller's Group goes.
class OrderedGroup {
 public:
  virtual ~OrderedGroup() = default;
  OrderedGroup(std::vector<int> ranks, int index) : ranks_(std::move(ranks)), index_(index) {}
  const std::vector<int>& ranks() const { return ranks_; }
  int index() const { return index_; }
  int size() const { return static_cast<int>(ranks_.size()); }

 private:
  friend class AsyncCommunicator;
  const std::vector<int> ranks_;
  const int index_;
  uint64_t started_ = 0;    // guarded by AsyncCommunicator::queue_mutex_
  uint64_t completed_ = 0;  // guarded by AsyncCommunicator::progress_mutex_
};

// What a transport keeps for an operation; made once per pooled operation.
class TransportState {
 public:
  virtual ~TransportState() = default;
};

// One operation from its start to the end of its Wait().
struct Operation {
  OperationKind kind;
  OrderedGroup* group = nullptr;  // collectives
  void* data = nullptr;
  const void* send = nullptr;  // all_to_all, send
  int64_t count = 0;           // elements; all_to_all: of one block
  std::vector<int64_t> counts;
  ElementType type = ElementType::kU8;
  ReduceOp reduce = ReduceOp::kSum;
  int root = 0;
  int peer = -1;  // send, receive
  int tag = 0;
  size_t bytes = 0;   // of `data` (of all blocks); send, receive: of the message
  Position position;  // when it was started
  Clock::time_point started;
  uint64_t sequence = 0;  // within the group

  // For the transport; zero and null at the start of every operation, except that `state` stays.
  int phase = 0;
  int slot = -1;
  size_t offset = 0;
  std::unique_ptr<TransportState> state;

  std::atomic<bool> done = false;
  std::atomic<bool> awaited = false;  // somebody is in Wait() for it
  absl::Status status;     // valid once done
  bool abandoned = false;  // its handle was destroyed before it was done
};

// What peers may see and do of a rank; may lie in memory that processes share.
struct alignas(128) RankBoard {
  Doorbell bell;
  std::atomic<int64_t> step;
  std::atomic<int32_t> instruction;
  std::atomic<uint64_t> wanted;  // a message that the rank waits for: see intranode/node_transport.h

  Position position() const {
    return {step.load(std::memory_order_relaxed), instruction.load(std::memory_order_relaxed)};
  }
};

// How far a step of an operation came.
enum class Progress { kBlocked, kMoved, kDone };

// "rank 2 (last at step 3, instruction 12)".
std::string RankAt(int rank, Position position);

class AsyncCommunicator : public Communicator {
 public:
  ~AsyncCommunicator() override;

  int rank() const final { return rank_; }
  int size() const final { return size_; }
  void SetPosition(Position position) final;

  absl::StatusOr<std::unique_ptr<Pending>> AllReduce(Group& group, void* data, int64_t count,
                                                     ElementType type, ReduceOp op) final;
  absl::StatusOr<std::unique_ptr<Pending>> AllGather(Group& group, void* data,
                                                     const std::vector<int64_t>& counts,
                                                     ElementType type) final;
  absl::StatusOr<std::unique_ptr<Pending>> ReduceScatter(Group& group, void* data,
                                                         const std::vector<int64_t>& counts, ElementType type,
                                                         ReduceOp op) final;
  absl::StatusOr<std::unique_ptr<Pending>> AllToAll(Group& group, const void* send, void* receive,
                                                    int64_t count, ElementType type) final;
  absl::StatusOr<std::unique_ptr<Pending>> Broadcast(Group& group, void* data, int64_t count,
                                                     ElementType type, int root) final;
  absl::StatusOr<std::unique_ptr<Pending>> Send(const void* data, size_t bytes, int peer, int tag) final;
  absl::StatusOr<std::unique_ptr<Pending>> Receive(void* data, size_t bytes, int peer, int tag) final;
  absl::Status Barrier(Clock::time_point deadline) final;

 protected:
  // `longest_sleep`: how long a thread with operations in flight may sleep without a ring. `idle_sleep`: how
  // long the communication thread may sleep without operations before it calls Service() again.
  AsyncCommunicator(int rank, int size, RankBoard* board, std::chrono::nanoseconds longest_sleep,
                    std::chrono::nanoseconds idle_sleep);

  // The thread calls virtual functions: the last constructor starts it, the first destructor stops it.
  void StartThread(std::unique_ptr<OrderedGroup> world);
  void StopThread();

  // Moves an operation on without waiting. Called under the progress lock.
  virtual absl::StatusOr<Progress> Step(Operation& operation) = 0;
  // Called under the progress lock before each pass: an error fails the communicator.
  virtual absl::Status Service() = 0;
  // INVALID_ARGUMENT when the transport cannot work on the operation's memory. Called by the starting thread.
  virtual absl::Status CheckMemory(const Operation& operation) = 0;
  // The ranks that `operation` waits for, as part of a sentence: "rank 2 has not arrived (last at step 3)".
  // Takes a second at most. Called under the progress lock.
  virtual std::string DescribeMissing(Operation& operation) = 0;

  // INVALID_ARGUMENT unless `ranks` are different ranks of this job, this one among them; else this rank's
  // index.
  absl::StatusOr<int> CheckRanks(const std::vector<int>& ranks) const;

  // What the caller of CreateGroup() gets.
  std::unique_ptr<Group> Adopt(std::unique_ptr<OrderedGroup> group);

  bool failed() const { return failed_.load(std::memory_order_acquire); }
  RankBoard& board() { return *board_; }
  std::mutex& progress_mutex() { return progress_mutex_; }

 private:
  class Handle;
  class GroupHandle;

  absl::StatusOr<Operation*> NewOperation(OperationKind kind);
  absl::StatusOr<std::unique_ptr<Pending>> Start(Operation* operation);
  absl::StatusOr<std::unique_ptr<Pending>> StartCollective(Operation* operation, Group& group);
  absl::StatusOr<std::unique_ptr<Pending>> StartOver(Operation* operation, OrderedGroup* group);
  absl::Status StartMessage(Operation* operation, size_t bytes, int peer, int tag);
  absl::Status CheckCollective(Operation& operation) const;
  void Recycle(Operation* operation);
  void Release(Operation* operation);

  absl::Status Wait(Operation& operation, Clock::time_point deadline);
  absl::Status Expire(Operation& operation);
  void ThreadMain();

  // These need progress_mutex_.
  bool Pass(const Operation* only = nullptr);  // null: all operations
  bool MayRun(const Operation& operation, size_t kept) const;
  void Complete(Operation* operation, const absl::Status& status);
  void Fail(const absl::Status& status);

  const int rank_;
  const int size_;
  RankBoard* const board_;
  const std::chrono::nanoseconds longest_sleep_;
  const std::chrono::nanoseconds idle_sleep_;
  std::shared_ptr<OrderedGroup> world_;
  std::vector<std::shared_ptr<OrderedGroup>> groups_;

  std::mutex queue_mutex_;  // short; taken inside progress_mutex_
  std::vector<Operation*> incoming_;
  std::vector<Operation*> free_;
  std::vector<std::unique_ptr<Operation>> owned_;
  absl::Status failure_;
  std::atomic<bool> failed_ = false;

  std::mutex progress_mutex_;  // held for as long as one operation moves
  std::vector<Operation*> active_;
  std::atomic<int> outstanding_ = 0;
  std::atomic<int> waiters_ = 0;

  Doorbell thread_bell_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_ASYNC_COMMUNICATOR_H_
