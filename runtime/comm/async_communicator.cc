#include "runtime/comm/async_communicator.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/element.h"

namespace pdc::comm {

namespace {

// How often a pass is repeated, giving the processor away between two, before its thread sleeps. A waiting
// caller has nothing else to do; the communication thread competes with the computation.
constexpr int kYieldsOfWaiter = 100;
constexpr int kYieldsOfThread = 10;

std::string RankList(const std::vector<int>& ranks) {
  std::string text = "[";
  for (size_t i = 0; i < ranks.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return text + "]";
}

std::string At(Position position) {
  if (position.step < 0 && position.instruction < 0) return "before the first step";
  return ToString(Place{-1, position.step, position.instruction, {}});
}

// "all_reduce of 1024 f32 over ranks [0, 1]".
std::string Describe(const Operation& operation) {
  std::string text = OperationName(operation.kind);
  if (operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive) {
    return text + " of " + std::to_string(operation.bytes) + " bytes " +
           (operation.kind == OperationKind::kSend ? "to" : "from") + " rank " +
           std::to_string(operation.peer) + " with tag " + std::to_string(operation.tag);
  }
  if (operation.kind != OperationKind::kBarrier) {
    text += " of " + std::to_string(operation.count) + " " + std::string(ElementName(operation.type));
  }
  return text + " over ranks " + RankList(operation.group->ranks());
}

// Handles are small and of one size: a list of free ones instead of the heap.
class HandlePool {
 public:
  void* Get(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (free_.empty()) return ::operator new(bytes);
    void* memory = free_.back();
    free_.pop_back();
    return memory;
  }
  void Put(void* memory) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(memory);
  }
  static HandlePool& Instance() {
    static HandlePool* pool = new HandlePool;  // outlives all handles
    return *pool;
  }

 private:
  std::mutex mutex_;
  std::vector<void*> free_;
};

}  // namespace

const char* OperationName(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllReduce:
      return "all_reduce";
    case OperationKind::kAllGather:
      return "all_gather";
    case OperationKind::kReduceScatter:
      return "reduce_scatter";
    case OperationKind::kAllToAll:
      return "all_to_all";
    case OperationKind::kBroadcast:
      return "broadcast";
    case OperationKind::kBarrier:
      return "barrier";
    case OperationKind::kSend:
      return "send";
    case OperationKind::kReceive:
      return "receive";
  }
  return "unknown operation";
}

std::string RankAt(int rank, Position position) {
  return "rank " + std::to_string(rank) + " (last at " + At(position) + ")";
}

class AsyncCommunicator::Handle final : public Pending {
 public:
  Handle(AsyncCommunicator* owner, Operation* operation) : owner_(owner), operation_(operation) {}
  ~Handle() override { owner_->Release(operation_); }
  absl::Status Wait(Clock::time_point deadline) override { return owner_->Wait(*operation_, deadline); }

  static void* operator new(size_t bytes) { return HandlePool::Instance().Get(bytes); }
  static void operator delete(void* memory) { HandlePool::Instance().Put(memory); }

 private:
  AsyncCommunicator* owner_;
  Operation* operation_;
};

class AsyncCommunicator::GroupHandle final : public Group {
 public:
  explicit GroupHandle(std::shared_ptr<OrderedGroup> group) : group_(std::move(group)) {}
  const std::vector<int>& ranks() const override { return group_->ranks(); }
  int index() const override { return group_->index(); }
  OrderedGroup* group() const { return group_.get(); }

 private:
  const std::shared_ptr<OrderedGroup> group_;
};

std::unique_ptr<Group> AsyncCommunicator::Adopt(std::unique_ptr<OrderedGroup> group) {
  groups_.push_back(std::move(group));
  return std::make_unique<GroupHandle>(groups_.back());
}

AsyncCommunicator::AsyncCommunicator(int rank, int size, RankBoard* board,
                                     std::chrono::nanoseconds longest_sleep,
                                     std::chrono::nanoseconds idle_sleep)
    : rank_(rank), size_(size), board_(board), longest_sleep_(longest_sleep), idle_sleep_(idle_sleep) {
  SetPosition(Position{});
}

AsyncCommunicator::~AsyncCommunicator() = default;

void AsyncCommunicator::SetPosition(Position position) {
  board_->step.store(position.step, std::memory_order_relaxed);
  board_->instruction.store(position.instruction, std::memory_order_relaxed);
}

// Starting.

absl::StatusOr<Operation*> AsyncCommunicator::NewOperation(OperationKind kind) {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  if (!failure_.ok()) return failure_;
  if (free_.empty()) {
    owned_.push_back(std::make_unique<Operation>());
    free_.push_back(owned_.back().get());
  }
  Operation* operation = free_.back();
  free_.pop_back();
  operation->kind = kind;
  operation->group = nullptr;
  operation->data = nullptr;
  operation->send = nullptr;
  operation->count = 0;
  operation->counts.clear();
  operation->type = ElementType::kU8;
  operation->reduce = ReduceOp::kSum;
  operation->root = 0;
  operation->peer = -1;
  operation->tag = 0;
  operation->bytes = 0;
  operation->position = board_->position();
  operation->started = Clock::now();
  operation->phase = 0;
  operation->slot = -1;
  operation->offset = 0;
  operation->status = absl::OkStatus();
  operation->abandoned = false;
  operation->done.store(false, std::memory_order_relaxed);
  operation->awaited.store(false, std::memory_order_relaxed);
  return operation;
}

void AsyncCommunicator::Recycle(Operation* operation) {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  free_.push_back(operation);
}

void AsyncCommunicator::Release(Operation* operation) {
  std::lock_guard<std::mutex> lock(queue_mutex_);
  if (operation->done.load(std::memory_order_acquire)) {
    free_.push_back(operation);
  } else {
    operation->abandoned = true;
  }
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::Start(Operation* operation) {
  std::unique_ptr<Pending> handle;
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    if (!failure_.ok()) {
      free_.push_back(operation);
      return failure_;
    }
    handle.reset(new Handle(this, operation));
    if (operation->group != nullptr) operation->sequence = operation->group->started_++;
    incoming_.push_back(operation);
    outstanding_.fetch_add(1, std::memory_order_seq_cst);
  }
  thread_bell_.Ring();
  board_->bell.Ring();
  // A receiver that waits need not wait for this rank's communication thread, which has to get a processor first.
  if (operation->kind == OperationKind::kSend && progress_mutex_.try_lock()) {
    Pass(operation);
    progress_mutex_.unlock();
  }
  return handle;
}

absl::Status AsyncCommunicator::CheckCollective(Operation& operation) const {
  const std::string name = OperationName(operation.kind);
  const size_t element = ElementBytes(operation.type);
  if (element == 0) return absl::InvalidArgumentError(name + ": unknown " + std::string(ElementName(operation.type)));
  const auto members = static_cast<size_t>(operation.group->size());
  if (operation.kind == OperationKind::kAllGather || operation.kind == OperationKind::kReduceScatter) {
    if (operation.counts.size() != members) {
      return absl::InvalidArgumentError(name + ": " + std::to_string(operation.counts.size()) +
                                        " counts for a group of " + std::to_string(members) + " ranks");
    }
    for (int64_t count : operation.counts) {
      if (count < 0) return absl::InvalidArgumentError(name + ": negative count " + std::to_string(count));
      operation.count += count;
    }
  }
  if (operation.count < 0) {
    return absl::InvalidArgumentError(name + ": negative count " + std::to_string(operation.count));
  }
  if (operation.root < 0 || operation.root >= operation.group->size()) {
    return absl::InvalidArgumentError(name + ": root " + std::to_string(operation.root) + " in a group of " +
                                      std::to_string(members) + " ranks");
  }
  if (operation.kind == OperationKind::kAllReduce || operation.kind == OperationKind::kReduceScatter) {
    PDC_RETURN_IF_ERROR(Annotate(CheckReduction(operation.type, operation.reduce), name));
  }
  operation.bytes = static_cast<size_t>(operation.count) * element;
  if (operation.kind == OperationKind::kAllToAll) operation.bytes *= members;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::StartCollective(Operation* operation,
                                                                            Group& group) {
  return StartOver(operation, static_cast<GroupHandle&>(group).group());
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::StartOver(Operation* operation,
                                                                      OrderedGroup* group) {
  operation->group = group;
  absl::Status status = CheckCollective(*operation);
  if (status.ok() && operation->bytes > 0) status = CheckMemory(*operation);
  if (!status.ok()) {
    Recycle(operation);
    return status;
  }
  return Start(operation);
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::AllReduce(Group& group, void* data, int64_t count,
                                                                      ElementType type, ReduceOp op) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kAllReduce));
  operation->data = data;
  operation->count = count;
  operation->type = type;
  operation->reduce = op;
  return StartCollective(operation, group);
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::AllGather(Group& group, void* data,
                                                                      const std::vector<int64_t>& counts,
                                                                      ElementType type) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kAllGather));
  operation->data = data;
  operation->counts.assign(counts.begin(), counts.end());
  operation->type = type;
  return StartCollective(operation, group);
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::ReduceScatter(Group& group, void* data,
                                                                          const std::vector<int64_t>& counts,
                                                                          ElementType type, ReduceOp op) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kReduceScatter));
  operation->data = data;
  operation->counts.assign(counts.begin(), counts.end());
  operation->type = type;
  operation->reduce = op;
  return StartCollective(operation, group);
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::AllToAll(Group& group, const void* send,
                                                                     void* receive, int64_t count,
                                                                     ElementType type) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kAllToAll));
  operation->send = send;
  operation->data = receive;
  operation->count = count;
  operation->type = type;
  return StartCollective(operation, group);
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::Broadcast(Group& group, void* data, int64_t count,
                                                                      ElementType type, int root) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kBroadcast));
  operation->data = data;
  operation->count = count;
  operation->type = type;
  operation->root = root;
  return StartCollective(operation, group);
}

absl::Status AsyncCommunicator::StartMessage(Operation* operation, size_t bytes, int peer, int tag) {
  operation->bytes = bytes;
  operation->peer = peer;
  operation->tag = tag;
  if (peer >= 0 && peer < size_ && tag >= 0 && tag <= kMostTag) return absl::OkStatus();
  absl::Status status = absl::InvalidArgumentError(std::string(OperationName(operation->kind)) + ": peer " +
                                                   std::to_string(peer) + ", tag " + std::to_string(tag) +
                                                   "; the job has ranks 0 to " + std::to_string(size_ - 1) +
                                                   ", and tags are from 0 to " + std::to_string(kMostTag));
  Recycle(operation);
  return status;
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::Send(const void* data, size_t bytes, int peer,
                                                                 int tag) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kSend));
  operation->send = data;
  PDC_RETURN_IF_ERROR(StartMessage(operation, bytes, peer, tag));
  return Start(operation);
}

absl::StatusOr<std::unique_ptr<Pending>> AsyncCommunicator::Receive(void* data, size_t bytes, int peer,
                                                                    int tag) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kReceive));
  operation->data = data;
  PDC_RETURN_IF_ERROR(StartMessage(operation, bytes, peer, tag));
  return Start(operation);
}

absl::Status AsyncCommunicator::Barrier(Clock::time_point deadline) {
  PDC_ASSIGN_OR_RETURN(Operation * operation, NewOperation(OperationKind::kBarrier));
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> pending, StartOver(operation, world_.get()));
  return pending->Wait(deadline);
}

absl::StatusOr<int> AsyncCommunicator::CheckRanks(const std::vector<int>& ranks) const {
  int index = -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= size_ || std::count(ranks.begin(), ranks.end(), ranks[i]) != 1) {
      return absl::InvalidArgumentError("group " + RankList(ranks) +
                                        ": expected different ranks between 0 and " +
                                        std::to_string(size_ - 1));
    }
    if (ranks[i] == rank_) index = static_cast<int>(i);
  }
  if (index < 0) {
    return absl::InvalidArgumentError("group " + RankList(ranks) + " does not contain rank " +
                                      std::to_string(rank_) + ", which creates it");
  }
  return index;
}

// Progress.

bool AsyncCommunicator::MayRun(const Operation& operation, size_t kept) const {
  if (operation.group != nullptr) return operation.sequence == operation.group->completed_;
  for (size_t i = 0; i < kept; ++i) {
    const Operation& earlier = *active_[i];
    if (earlier.kind == operation.kind && earlier.peer == operation.peer && earlier.tag == operation.tag)
      return false;
  }
  return true;
}

bool AsyncCommunicator::Pass(const Operation* only) {
  absl::Status service = Service();
  if (!service.ok()) {
    Fail(service);
    return true;
  }
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    active_.insert(active_.end(), incoming_.begin(), incoming_.end());
    incoming_.clear();
  }
  bool moved = false;
  size_t kept = 0;  // operations before this one stay
  for (size_t i = 0; i < active_.size(); ++i) {
    Operation* operation = active_[i];
    Progress progress = Progress::kBlocked;
    while ((only == nullptr || operation == only) && MayRun(*operation, kept)) {
      absl::StatusOr<Progress> step = Step(*operation);
      if (!step.ok()) {
        // What was done is no longer in the list; close the gap before the rest fails.
        active_.erase(active_.begin() + static_cast<ptrdiff_t>(kept),
                      active_.begin() + static_cast<ptrdiff_t>(i));
        Place place{rank_, operation->position.step, operation->position.instruction, {}};
        Fail(AtPlace(Annotate(step.status(), Describe(*operation)), place));
        return true;
      }
      progress = *step;
      if (progress != Progress::kBlocked) moved = true;
      if (progress != Progress::kMoved) break;
    }
    if (progress == Progress::kDone) {
      if (operation->group != nullptr) ++operation->group->completed_;
      Complete(operation, absl::OkStatus());
    } else {
      active_[kept++] = operation;
    }
  }
  active_.resize(kept);
  return moved;
}

void AsyncCommunicator::Complete(Operation* operation, const absl::Status& status) {
  operation->status = status;
  {
    // From here on the handle's owner may recycle the operation.
    std::lock_guard<std::mutex> lock(queue_mutex_);
    outstanding_.fetch_sub(1, std::memory_order_seq_cst);
    if (operation->abandoned) free_.push_back(operation);
    operation->done.store(true, std::memory_order_release);
  }
  if (waiters_.load(std::memory_order_seq_cst) > 0) board_->bell.Ring();
}

void AsyncCommunicator::Fail(const absl::Status& status) {
  {
    std::lock_guard<std::mutex> lock(queue_mutex_);
    if (failure_.ok()) failure_ = status;
    failed_.store(true, std::memory_order_release);
    active_.insert(active_.end(), incoming_.begin(), incoming_.end());
    incoming_.clear();
  }
  for (Operation* operation : active_) Complete(operation, failure_);
  active_.clear();
}

absl::Status AsyncCommunicator::Wait(Operation& operation, Clock::time_point deadline) {
  if (operation.done.load(std::memory_order_acquire)) return operation.status;
  operation.awaited.store(true, std::memory_order_relaxed);
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  absl::Status status;
  for (int idle = 0;;) {
    const uint32_t ticket = board_->bell.Ticket();
    if (operation.done.load(std::memory_order_acquire)) break;
    bool moved = false;
    if (progress_mutex_.try_lock()) {
      moved = Pass();
      progress_mutex_.unlock();
    }
    if (operation.done.load(std::memory_order_acquire)) break;
    const Clock::time_point now = Clock::now();
    if (now >= deadline) {
      status = Expire(operation);
      break;
    }
    idle = moved ? 0 : idle + 1;
    if (idle < kYieldsOfWaiter) {
      sched_yield();
    } else {
      board_->bell.Sleep(ticket, std::min<std::chrono::nanoseconds>(longest_sleep_, deadline - now));
    }
  }
  waiters_.fetch_sub(1, std::memory_order_seq_cst);
  if (outstanding_.load(std::memory_order_seq_cst) > 0) thread_bell_.Ring();
  if (!status.ok()) return status;
  return operation.status;
}

absl::Status AsyncCommunicator::Expire(Operation& operation) {
  std::lock_guard<std::mutex> lock(progress_mutex_);
  if (operation.done.load(std::memory_order_acquire)) return operation.status;
  // An operation that waits for its turn is held up by the first of its group.
  Operation* first = &operation;
  for (Operation* other : active_) {
    if (operation.group != nullptr && other->group == operation.group &&
        other->sequence == operation.group->completed_) {
      first = other;
    }
  }
  const std::chrono::duration<double> waited = Clock::now() - operation.started;
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.1f", waited.count());
  std::string message = Describe(operation) + " timed out after " + seconds + " s: ";
  if (first != &operation) message += "it waits for an earlier " + Describe(*first) + ": ";
  message += DescribeMissing(*first);
  Place place{rank_, operation.position.step, operation.position.instruction, {}};
  absl::Status status = AtPlace(absl::DeadlineExceededError(message), place);
  Fail(status);
  return status;
}

void AsyncCommunicator::ThreadMain() {
  for (int idle = 0; !stop_.load(std::memory_order_acquire);) {
    const uint32_t thread_ticket = thread_bell_.Ticket();
    const uint32_t ticket = board_->bell.Ticket();
    const bool waiting = waiters_.load(std::memory_order_seq_cst) > 0;
    const bool working = outstanding_.load(std::memory_order_seq_cst) > 0;
    bool moved = false;
    if (!waiting && progress_mutex_.try_lock()) {
      moved = Pass();
      progress_mutex_.unlock();
      // A caller that came meanwhile found the lock taken and went to sleep: from here on it makes the
      // passes.
      if (waiters_.load(std::memory_order_seq_cst) > 0) board_->bell.Ring();
    }
    idle = moved ? 0 : idle + 1;
    if (stop_.load(std::memory_order_acquire)) break;
    if (waiting || !working) {
      thread_bell_.Sleep(thread_ticket, idle_sleep_);
    } else if (idle < kYieldsOfThread) {
      sched_yield();
    } else {
      board_->bell.Sleep(ticket, longest_sleep_);
    }
  }
}

void AsyncCommunicator::StartThread(std::unique_ptr<OrderedGroup> world) {
  world_ = std::move(world);
  thread_ = std::thread([this] { ThreadMain(); });
}

void AsyncCommunicator::StopThread() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  thread_bell_.Ring();
  board_->bell.Ring();
  thread_.join();
}

}  // namespace pdc::comm
