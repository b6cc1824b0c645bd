#include "runtime/comm/intranode/node_transport.h"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/comm/element.h"

namespace pdc::comm {

namespace {

constexpr std::chrono::seconds kLockPatience(10);

// Slices of all_reduce begin at multiples of a cache line, so that no two ranks write to the same line.
constexpr size_t kCacheLineBytes = 64;

uint64_t HashOf(const std::vector<int64_t>& counts) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (int64_t count : counts) hash = (hash ^ static_cast<uint64_t>(count)) * 0x100000001b3u;
  return hash;
}

std::string Describe(const Announcement& announcement) {
  std::string text = OperationName(announcement.kind);
  if (announcement.kind == OperationKind::kBarrier) return text;
  text += " of " + std::to_string(announcement.count) + " " + std::string(ElementName(announcement.type));
  if (announcement.kind == OperationKind::kAllReduce || announcement.kind == OperationKind::kReduceScatter) {
    text += announcement.reduce == ReduceOp::kSum ? " (sum)" : " (max)";
  }
  if (announcement.kind == OperationKind::kBroadcast)
    text += " from member " + std::to_string(announcement.root);
  return text;
}

}  // namespace

NodeTransport::NodeTransport(int index, std::vector<int> ranks, ControlBlock block, NodeMemory* memory)
    : index_(index), ranks_(std::move(ranks)), block_(block), memory_(memory) {
  data_of_.resize(ranks_.size());
  sources_.resize(ranks_.size());
  outputs_.resize(ranks_.size());
  senders_.resize(ranks_.size());
}

// All members create their n-th group of the same ranks under the same record, whoever comes first: nobody
// waits.
absl::StatusOr<std::unique_ptr<NodeGroup>> NodeTransport::CreateGroup(std::vector<int> ranks) {
  const auto mine = std::find(ranks.begin(), ranks.end(), index_);
  if (mine == ranks.end()) return absl::InternalError("a rank creates a group of others");
  const int index = static_cast<int>(mine - ranks.begin());
  if (static_cast<int>(ranks_.size()) > GroupRecord::kMaxRanks) {
    return absl::UnimplementedError(std::to_string(ranks_.size()) + " ranks on one node; at most " +
                                    std::to_string(GroupRecord::kMaxRanks) + " are supported");
  }
  ControlHeader& header = block_.header();
  const Clock::time_point deadline = Clock::now() + kLockPatience;
  while (header.groups_lock.exchange(1, std::memory_order_acquire) != 0) {
    if (Clock::now() > deadline) {
      return absl::DeadlineExceededError("another rank of this node stopped while it created a group");
    }
    sched_yield();
  }
  const int instance = instances_[ranks]++;
  int record = -1;
  for (uint32_t g = 0; g < header.groups_used && record < 0; ++g) {
    const GroupRecord& other = block_.group(static_cast<int>(g));
    if (other.instance == instance && other.size == static_cast<int>(ranks.size()) &&
        std::equal(ranks.begin(), ranks.end(), other.ranks)) {
      record = static_cast<int>(g);
    }
  }
  if (record < 0 &&
      static_cast<int>(header.groups_used) < ControlBlock::MaxGroups(static_cast<int>(ranks_.size()))) {
    record = static_cast<int>(header.groups_used++);
    GroupRecord& created = block_.group(record);
    created.size = static_cast<int32_t>(ranks.size());
    created.instance = instance;
    std::copy(ranks.begin(), ranks.end(), created.ranks);
  }
  header.groups_lock.store(0, std::memory_order_release);
  if (record < 0) {
    return absl::ResourceExhaustedError(
        "a node of " + std::to_string(ranks_.size()) + " ranks can create at most " +
        std::to_string(ControlBlock::MaxGroups(static_cast<int>(ranks_.size()))) + " groups");
  }
  return std::make_unique<NodeGroup>(std::move(ranks), index, record);
}

void NodeTransport::Abort(const absl::Status& why) {
  ControlHeader& header = block_.header();
  uint32_t none = 0;
  if (header.abort_state.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) {
    header.abort_rank = ranks_[index_];
    const size_t length = std::min(why.message().size(), sizeof(header.abort_message) - 1);
    std::memcpy(header.abort_message, why.message().data(), length);
    header.abort_message[length] = '\0';
    header.abort_state.store(2, std::memory_order_release);
  }
  for (int peer = 0; peer < static_cast<int>(ranks_.size()); ++peer) block_.board(peer).bell.Ring();
}

bool NodeTransport::FollowsAbortOfPeer(const absl::Status& why) const {
  const ControlHeader& header = block_.header();
  return absl::IsAborted(why) && header.abort_state.load(std::memory_order_acquire) == 2 &&
         header.abort_rank != ranks_[index_];
}

absl::Status NodeTransport::Service() const {
  const ControlHeader& header = block_.header();
  if (header.abort_state.load(std::memory_order_acquire) != 2) return absl::OkStatus();
  return absl::AbortedError("rank " + std::to_string(header.abort_rank) +
                            " ended the job: " + std::string(header.abort_message));
}

absl::Status NodeTransport::CheckMemory(const Operation& operation) const {
  if (ranks_.size() == 1 || operation.kind == OperationKind::kBarrier) return absl::OkStatus();
  absl::Status status = memory_->Locate(operation.data, operation.bytes).status();
  if (status.ok() && operation.send != nullptr)
    status = memory_->Locate(operation.send, operation.bytes).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      std::string(OperationName(operation.kind)) + " of " + std::to_string(operation.bytes) +
      " bytes: its memory does not come from AllocateShared() of this communicator");
}

// Collectives.

absl::StatusOr<Progress> NodeTransport::StepCollective(Operation& operation, NodeGroup& group) {
  const uint64_t announced = AnnouncedStage(operation);
  switch (operation.phase) {
    case 0:
      if (group.size() == 1) {
        if (operation.kind == OperationKind::kAllToAll && operation.bytes > 0) {
          std::memcpy(operation.data, operation.send, operation.bytes);
        }
        return Progress::kDone;
      }
      PDC_RETURN_IF_ERROR(Announce(operation, group));
      operation.phase = 1;
      return Progress::kMoved;
    case 1:
      if (!AllReached(group, announced)) return Progress::kBlocked;
      PDC_RETURN_IF_ERROR(CheckAnnouncements(operation, group));
      if (operation.bytes > 0) MoveData(operation, group);
      SetStage(group, announced + 1);
      operation.phase = 2;
      return Progress::kMoved;
    default:
      return AllReached(group, announced + 1) ? Progress::kDone : Progress::kBlocked;
  }
}

std::byte* NodeTransport::DataOf(const NodeGroup& group, int member) const {
  return memory_->Resolve(group.ranks()[member], block_.member(group.record, member).announcement.data);
}

const std::byte* NodeTransport::SendOf(const NodeGroup& group, int member) const {
  return memory_->Resolve(group.ranks()[member], block_.member(group.record, member).announcement.send);
}

absl::Status NodeTransport::Announce(const Operation& operation, NodeGroup& group) {
  Announcement announcement;
  announcement.kind = operation.kind;
  announcement.type = operation.type;
  announcement.reduce = operation.reduce;
  announcement.root = operation.root;
  announcement.count = operation.count;
  announcement.counts_hash = HashOf(operation.counts);
  if (operation.bytes > 0) {
    PDC_ASSIGN_OR_RETURN(announcement.data, memory_->Locate(operation.data, operation.bytes));
    if (operation.send != nullptr) {
      PDC_ASSIGN_OR_RETURN(announcement.send, memory_->Locate(operation.send, operation.bytes));
    }
  }
  block_.member(group.record, group.index()).announcement = announcement;
  SetStage(group, AnnouncedStage(operation));
  return absl::OkStatus();
}

absl::Status NodeTransport::CheckAnnouncements(const Operation& operation, const NodeGroup& group) const {
  const Announcement& mine = block_.member(group.record, group.index()).announcement;
  for (int i = 0; i < group.size(); ++i) {
    const Announcement& other = block_.member(group.record, i).announcement;
    if (other.kind == mine.kind && other.type == mine.type && other.reduce == mine.reduce &&
        other.root == mine.root && other.count == mine.count && other.counts_hash == mine.counts_hash) {
      continue;
    }
    const bool counts_differ =
        other.kind == mine.kind && other.count == mine.count && other.type == mine.type;
    return absl::FailedPreconditionError(
        RankAt(ranks_[group.ranks()[i]], block_.board(group.ranks()[i]).position()) + " runs " +
        Describe(other) + " instead" + (counts_differ ? ", or the counts per member differ" : ""));
  }
  return absl::OkStatus();
}

void NodeTransport::SetStage(NodeGroup& group, uint64_t stage) {
  block_.member(group.record, group.index()).stage.store(stage, std::memory_order_release);
  for (int peer : group.ranks()) {
    if (peer != index_) block_.board(peer).bell.Ring();
  }
}

bool NodeTransport::AllReached(const NodeGroup& group, uint64_t stage) const {
  for (int i = 0; i < group.size(); ++i) {
    if (block_.member(group.record, i).stage.load(std::memory_order_acquire) < stage) return false;
  }
  return true;
}

void NodeTransport::MoveData(const Operation& operation, const NodeGroup& group) {
  const int members = group.size();
  const int me = group.index();
  const size_t element = ElementBytes(operation.type);
  const bool from_send = operation.kind == OperationKind::kAllToAll;
  for (int i = 0; i < members; ++i)
    data_of_[i] = from_send ? const_cast<std::byte*>(SendOf(group, i)) : DataOf(group, i);
  switch (operation.kind) {
    case OperationKind::kAllReduce: {
      const auto per_line = static_cast<int64_t>(kCacheLineBytes / element);
      const int64_t lines = (operation.count + per_line - 1) / per_line;
      const int64_t slice = (lines + members - 1) / members * per_line;
      const int64_t begin = std::min(operation.count, slice * me);
      const int64_t end = std::min(operation.count, begin + slice);
      for (int i = 0; i < members; ++i) {
        outputs_[i] = data_of_[i] + begin * element;
        sources_[i] = outputs_[i];
      }
      Reduce(operation.type, operation.reduce, sources_.data(), members, outputs_.data(), members,
             end - begin);
      return;
    }
    case OperationKind::kReduceScatter: {
      int64_t begin = 0;
      for (int i = 0; i < me; ++i) begin += operation.counts[i];
      for (int i = 0; i < members; ++i) sources_[i] = data_of_[i] + begin * element;
      outputs_[0] = data_of_[me] + begin * element;
      Reduce(operation.type, operation.reduce, sources_.data(), members, outputs_.data(), 1,
             operation.counts[me]);
      return;
    }
    case OperationKind::kAllGather: {
      size_t offset = 0;
      for (int i = 0; i < members; ++i) {
        const size_t bytes = operation.counts[i] * element;
        if (i != me && bytes > 0) std::memcpy(data_of_[me] + offset, data_of_[i] + offset, bytes);
        offset += bytes;
      }
      return;
    }
    case OperationKind::kAllToAll: {
      const size_t block = operation.count * element;
      auto* receive = static_cast<std::byte*>(operation.data);
      for (int i = 0; i < members; ++i) std::memcpy(receive + i * block, data_of_[i] + me * block, block);
      return;
    }
    case OperationKind::kBroadcast:
      if (me != operation.root) std::memcpy(operation.data, data_of_[operation.root], operation.bytes);
      return;
    case OperationKind::kBarrier:
    case OperationKind::kSend:
    case OperationKind::kReceive:
      return;
  }
}

// Messages.

namespace {

// A message as RankBoard::wanted has it: never 0, which is none.
uint64_t Wanted(int sender, int tag) {
  return (static_cast<uint64_t>(sender) + 1) << 32 | static_cast<uint32_t>(tag);
}

}  // namespace

bool NodeTransport::IsUrgent(const Operation& operation, int peer) const {
  return operation.awaited.load(std::memory_order_relaxed) ||
         block_.board(peer).wanted.load(std::memory_order_acquire) == Wanted(index_, operation.tag);
}

void NodeTransport::AskFor(const Operation& operation, int peer) {
  const uint64_t wanted = Wanted(peer, operation.tag);
  if (block_.board(index_).wanted.exchange(wanted, std::memory_order_acq_rel) != wanted)
    block_.board(peer).bell.Ring();
}

int NodeTransport::ClaimMailbox(Operation& operation, int peer) {
  for (int slot = 0; slot < ControlBlock::kMailboxes; ++slot) {
    const Mailbox& mailbox = block_.mailbox(index_, peer, slot);
    if (senders_[peer][slot] == nullptr && mailbox.state.load(std::memory_order_acquire) == Mailbox::kFree) return slot;
  }
  if (!IsUrgent(operation, peer)) return -1;
  for (int slot = 0; slot < ControlBlock::kMailboxes; ++slot) {
    Operation* other = senders_[peer][slot];
    if (other == nullptr || other->phase != 1 || IsUrgent(*other, peer)) continue;
    uint32_t full = Mailbox::kFull;
    Mailbox& mailbox = block_.mailbox(index_, peer, slot);
    if (!mailbox.state.compare_exchange_strong(full, Mailbox::kFree, std::memory_order_acq_rel)) continue;
    other->phase = 0;
    other->slot = -1;
    other->offset = 0;
    return slot;
  }
  return -1;
}

// Phases: 0 no mailbox, 1 the first piece is there and may be withdrawn, 2 the receiver has taken a piece.
absl::StatusOr<Progress> NodeTransport::StepSend(Operation& operation, int peer) {
  if (operation.phase == 0) {
    operation.slot = ClaimMailbox(operation, peer);
    if (operation.slot < 0) return Progress::kBlocked;
    senders_[peer][operation.slot] = &operation;
    Mailbox& mailbox = block_.mailbox(index_, peer, operation.slot);
    mailbox.tag.store(operation.tag, std::memory_order_relaxed);
    mailbox.total_bytes = operation.bytes;
    mailbox.bounced = false;
    if (operation.bytes > 0) {
      absl::StatusOr<Location> location = memory_->Locate(operation.send, operation.bytes);
      mailbox.bounced = !location.ok();
      if (location.ok()) mailbox.location = *location;
    }
    FillMailbox(operation, peer, mailbox);
    operation.phase = 1;
    return Progress::kMoved;
  }
  Mailbox& mailbox = block_.mailbox(index_, peer, operation.slot);
  if (mailbox.state.load(std::memory_order_acquire) != Mailbox::kConsumed) return Progress::kBlocked;
  operation.phase = 2;
  if (operation.offset < operation.bytes) {
    FillMailbox(operation, peer, mailbox);
    return Progress::kMoved;
  }
  senders_[peer][operation.slot] = nullptr;
  mailbox.state.store(Mailbox::kFree, std::memory_order_release);
  return Progress::kDone;
}

void NodeTransport::FillMailbox(Operation& operation, int peer, Mailbox& mailbox) {
  size_t bytes = operation.bytes - operation.offset;
  if (mailbox.bounced) {
    bytes = std::min(bytes, ControlBlock::kBounceBytes);
    std::memcpy(block_.bounce_buffer(index_, peer, operation.slot),
                static_cast<const std::byte*>(operation.send) + operation.offset, bytes);
  }
  mailbox.piece_bytes = bytes;
  operation.offset += bytes;
  mailbox.state.store(Mailbox::kFull, std::memory_order_release);
  block_.board(peer).bell.Ring();
}

// Takes the mailbox that it finds.
int NodeTransport::FindMailbox(const Operation& operation, int peer) const {
  for (int slot = 0; slot < ControlBlock::kMailboxes; ++slot) {
    Mailbox& mailbox = block_.mailbox(peer, index_, slot);
    uint32_t full = Mailbox::kFull;
    if (mailbox.state.load(std::memory_order_acquire) != Mailbox::kFull ||
        mailbox.tag.load(std::memory_order_relaxed) != operation.tag ||
        !mailbox.state.compare_exchange_strong(full, Mailbox::kTaken, std::memory_order_acq_rel))
      continue;
    // It may have become that of another message meanwhile.
    if (mailbox.tag.load(std::memory_order_relaxed) == operation.tag) return slot;
    mailbox.state.store(Mailbox::kFull, std::memory_order_release);
  }
  return -1;
}

absl::StatusOr<Progress> NodeTransport::StepReceive(Operation& operation, int peer) {
  if (operation.slot < 0) {
    operation.slot = FindMailbox(operation, peer);
    if (operation.slot < 0) {
      if (operation.awaited.load(std::memory_order_relaxed)) AskFor(operation, peer);
      return Progress::kBlocked;
    }
  } else {
    // The next piece: the sender does not withdraw what was begun.
    uint32_t full = Mailbox::kFull;
    std::atomic<uint32_t>& state = block_.mailbox(peer, index_, operation.slot).state;
    if (!state.compare_exchange_strong(full, Mailbox::kTaken, std::memory_order_acq_rel)) return Progress::kBlocked;
  }
  Mailbox& mailbox = block_.mailbox(peer, index_, operation.slot);
  if (mailbox.total_bytes != operation.bytes) {
    return absl::FailedPreconditionError("the message has " + std::to_string(mailbox.total_bytes) + " bytes");
  }
  if (mailbox.piece_bytes > 0) {
    const std::byte* piece = mailbox.bounced ? block_.bounce_buffer(peer, index_, operation.slot)
                                             : memory_->Resolve(peer, mailbox.location);
    std::memcpy(static_cast<std::byte*>(operation.data) + operation.offset, piece, mailbox.piece_bytes);
    operation.offset += mailbox.piece_bytes;
  }
  mailbox.state.store(Mailbox::kConsumed, std::memory_order_release);
  block_.board(peer).bell.Ring();
  return operation.offset == operation.bytes ? Progress::kDone : Progress::kMoved;
}

// Deadlines.

std::string NodeTransport::Name(int index) const {
  return RankAt(ranks_[index], block_.board(index).position());
}

std::string NodeTransport::DescribeMissingPeer(const Operation& operation, int peer) const {
  return Name(peer) + (operation.kind == OperationKind::kSend ? " has not received" : " has not sent");
}

std::string NodeTransport::DescribeMissing(const NodeGroup& group, uint64_t stage) const {
  std::string missing;
  int count = 0;
  for (int i = 0; i < group.size(); ++i) {
    if (block_.member(group.record, i).stage.load(std::memory_order_acquire) >= stage) continue;
    if (count++ > 0) missing += ", ";
    missing += Name(group.ranks()[i]);
  }
  if (count == 0) return "";
  return missing + (count == 1 ? " has" : " have") + (stage % 2 == 0 ? " not finished" : " not arrived");
}

}  // namespace pdc::comm
