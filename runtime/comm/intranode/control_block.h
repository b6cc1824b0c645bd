// The memory through which the ranks of a node tell each other what they do.
//
// It begins as zeros, holds no pointers, and is only changed by atomic operations and by the writer that a
// protocol names, so that it may lie in memory that processes map at different addresses.
#ifndef PDC_RUNTIME_COMM_INTRANODE_CONTROL_BLOCK_H_
#define PDC_RUNTIME_COMM_INTRANODE_CONTROL_BLOCK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/comm/async_communicator.h"

namespace pdc::comm {

// An address that means the same to all ranks of a node: a place in one of the regions of the rank that says
// it.
struct Location {
  int32_t region = -1;
  uint64_t offset = 0;
};

// What a member of a group is about to do: read by the other members to find its memory and to check that all
// do the same.
struct Announcement {
  OperationKind kind;
  ElementType type;
  ReduceOp reduce;
  int32_t root;
  int64_t count;
  uint64_t counts_hash;
  Location data;
  Location send;
};

// A member's progress in its group: operation number k has been announced when stage >= 2k + 1, and the
// member no longer touches other ranks' memory for it when stage >= 2k + 2. `announcement` is written by the
// member before it announces, and not again before all members have reached 2k + 2.
struct alignas(128) Member {
  std::atomic<uint64_t> stage;
  Announcement announcement;
};

// The head of a group; its ranks and members follow. Written under ControlHeader::groups_lock, then constant.
struct alignas(128) GroupRecord {
  int32_t size;
  int32_t instance;  // which of the groups with the same ranks this is
  static constexpr int kMaxRanks = 256;
  uint8_t ranks[kMaxRanks];
};

// A message on its way from one rank to another. Only the sender writes it while kFree or kConsumed, only the
// receiver while kTaken. While it is kFull either may have it: the receiver to read it, the sender to withdraw it.
struct alignas(128) Mailbox {
  enum State : uint32_t { kFree, kFull, kTaken, kConsumed };
  std::atomic<uint32_t> state;
  std::atomic<int32_t> tag;  // looked at before the mailbox is taken, too
  uint64_t total_bytes;  // of the message
  uint64_t piece_bytes;  // ready now
  bool bounced;          // the piece lies in the mailbox's bounce buffer, else at `location` of the sender
  Location location;
};

struct alignas(128) ControlHeader {
  std::atomic<uint32_t> groups_lock;
  uint32_t groups_used;
  // The first Abort(): 0 none, 1 being written, 2 to be read.
  std::atomic<uint32_t> abort_state;
  int32_t abort_rank;
  char abort_message[1024];
};

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free,
              "these lie in memory that processes share");

// A view of the block: computes where things lie.
class ControlBlock {
 public:
  static constexpr int kMailboxes = 8;  // from one rank to another
  static constexpr size_t kBounceBytes = 32 * 1024;

  ControlBlock() = default;
  // `memory` is aligned to 128 and has Bytes(ranks) bytes, zero before the first use by any rank.
  ControlBlock(std::byte* memory, int ranks) : memory_(memory), ranks_(ranks) {}

  static size_t Bytes(int ranks) {
    return MailboxesAt(ranks) + static_cast<size_t>(ranks) * ranks * kRowBytes;
  }
  // How many groups a job can create.
  static int MaxGroups(int ranks) { return 64 + 8 * ranks; }

  ControlHeader& header() const { return *reinterpret_cast<ControlHeader*>(memory_); }
  RankBoard& board(int rank) const {
    return *reinterpret_cast<RankBoard*>(memory_ + sizeof(ControlHeader) + rank * sizeof(RankBoard));
  }
  GroupRecord& group(int g) const { return *reinterpret_cast<GroupRecord*>(memory_ + GroupAt(ranks_, g)); }
  Member& member(int g, int index) const {
    return *reinterpret_cast<Member*>(memory_ + GroupAt(ranks_, g) + sizeof(GroupRecord) +
                                      index * sizeof(Member));
  }
  Mailbox& mailbox(int sender, int receiver, int slot) const {
    return *reinterpret_cast<Mailbox*>(Row(sender, receiver) + slot * sizeof(Mailbox));
  }
  std::byte* bounce_buffer(int sender, int receiver, int slot) const {
    return Row(sender, receiver) + kMailboxes * sizeof(Mailbox) + slot * kBounceBytes;
  }

 private:
  static size_t GroupAt(int ranks, int g) {
    return sizeof(ControlHeader) + ranks * sizeof(RankBoard) +
           static_cast<size_t>(g) * (sizeof(GroupRecord) + ranks * sizeof(Member));
  }
  static size_t MailboxesAt(int ranks) { return GroupAt(ranks, MaxGroups(ranks)); }
  static constexpr size_t kRowBytes = kMailboxes * (sizeof(Mailbox) + kBounceBytes);
  std::byte* Row(int sender, int receiver) const {
    return memory_ + MailboxesAt(ranks_) + (static_cast<size_t>(sender) * ranks_ + receiver) * kRowBytes;
  }

  std::byte* memory_ = nullptr;
  int ranks_ = 0;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_INTRANODE_CONTROL_BLOCK_H_
