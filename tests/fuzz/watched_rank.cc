#include "tests/fuzz/watched_rank.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/program/view.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define PDC_POISON(begin, bytes) ASAN_POISON_MEMORY_REGION(begin, bytes)
#define PDC_UNPOISON(begin, bytes) ASAN_UNPOISON_MEMORY_REGION(begin, bytes)
#endif
#endif
#ifndef PDC_POISON
#define PDC_POISON(begin, bytes) static_cast<void>(begin)
#define PDC_UNPOISON(begin, bytes) static_cast<void>(begin)
#endif

namespace pdc::fuzz {
namespace {

constexpr size_t kZoneBytes = 4096;  // a multiple of the arenas' alignment
constexpr int kPattern = 0xA5;

// [begin, end) in memory.
struct Range {
  const std::byte* begin;
  const std::byte* end;
};

// Memory between two zones.
struct Arena {
  std::byte* data;
  size_t bytes;
  std::vector<std::byte> before;  // its contents before the instruction that runs
};

}  // namespace

struct WatchedRank::State {
  ~State() {
    for (Arena& arena : arenas) Poison(arena, false);
  }

  static void Poison(const Arena& arena, bool poison) {
    std::byte* zones[] = {arena.data - kZoneBytes, arena.data + arena.bytes};
    for (std::byte* zone : zones) {
      if (poison) {
        PDC_POISON(zone, kZoneBytes);
      } else {
        PDC_UNPOISON(zone, kZoneBytes);
      }
    }
  }

  // `memory` has two zones more than `bytes`.
  void* Guard(void* memory, size_t bytes) {
    Arena& arena = arenas.emplace_back();
    arena.data = static_cast<std::byte*>(memory) + kZoneBytes;
    arena.bytes = bytes;
    std::memset(memory, kPattern, kZoneBytes);
    std::memset(arena.data + bytes, kPattern, kZoneBytes);
    Poison(arena, true);
    return arena.data;
  }

  void Save() {
    for (Arena& arena : arenas) arena.before.assign(arena.data, arena.data + arena.bytes);
  }

  // Everything but `written` and what operations in flight may write must be as it was.
  void Compare(const std::string& label, std::vector<Range> written) {
    for (const auto& operation : in_flight) written.insert(written.end(), operation.begin(), operation.end());
    std::sort(written.begin(), written.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (const Arena& arena : arenas) {
      const std::byte* at = arena.data;
      for (const Range& range : written) {
        if (range.end <= at || range.begin >= arena.data + arena.bytes) continue;
        if (range.begin > at) CompareBytes(label, arena, at, range.begin);
        at = std::max(at, range.end);
      }
      if (at < arena.data + arena.bytes) CompareBytes(label, arena, at, arena.data + arena.bytes);
    }
  }

  void CompareBytes(const std::string& label, const Arena& arena, const std::byte* begin, const std::byte* end) {
    const std::byte* saved = arena.before.data() + (begin - arena.data);
    if (!corruption.empty() || std::memcmp(begin, saved, static_cast<size_t>(end - begin)) == 0) return;
    corruption = "instruction '" + label + "' changes memory between " + std::to_string(begin - arena.data) + " and " +
                 std::to_string(end - arena.data) + " that it does not write";
  }

  std::list<Arena> arenas;
  std::list<std::vector<Range>> in_flight;
  std::string corruption;
};

namespace {

std::vector<Range> WrittenBy(const program::Program& program, const program::Instruction& instruction,
                             const device::Arenas& arenas) {
  std::vector<Range> written;
  auto base = [&](const program::Buffer& buffer) {
    return (buffer.segment() == program::Segment::kShared ? arenas.shared_base : arenas.private_base) +
           buffer.offset();
  };
  for (uint32_t o = 0; o < program::Size(instruction.operands()); ++o) {
    const program::Operand& operand = *instruction.operands()->Get(o);
    if (operand.access() == program::Access::kRead) continue;
    int64_t bytes = program::ElementBytes(operand.element_type()), last = operand.offset_elements();
    bool is_empty = false;
    for (uint32_t d = 0; d < program::Size(operand.shape()); ++d) {
      is_empty |= operand.shape()->Get(d) == 0;
      last += operand.strides()->Get(d) * (operand.shape()->Get(d) - 1);
    }
    if (is_empty) continue;
    const std::byte* begin = base(*program.buffers()->Get(operand.buffer()));
    written.push_back({begin + operand.offset_elements() * bytes, begin + (last + 1) * bytes});
  }
  if (instruction.workspace() >= 0) {
    const program::Buffer& workspace = *program.buffers()->Get(instruction.workspace());
    written.push_back({base(workspace), base(workspace) + workspace.bytes()});
  }
  return written;
}

}  // namespace

class WatchedRank::WatchedDevice final : public device::Device {
 public:
  WatchedDevice(device::Device& device, State& state) : device_(device), state_(state) {}

  std::string name() const override { return device_.name(); }

  absl::StatusOr<void*> Allocate(size_t bytes) override {
    PDC_ASSIGN_OR_RETURN(void* memory, device_.Allocate(bytes + 2 * kZoneBytes));
    return state_.Guard(memory, bytes);
  }

  absl::Status LoadKernels(const std::byte* image, size_t bytes, std::string_view features) override {
    return device_.LoadKernels(image, bytes, features);
  }

  absl::StatusOr<std::unique_ptr<device::Prepared>> Prepare(const program::Program& program,
                                                            const program::Instruction& instruction,
                                                            const device::Arenas& arenas) override {
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<device::Prepared> prepared, device_.Prepare(program, instruction, arenas));
    return std::make_unique<Watched>(std::move(prepared), state_, std::string(program::Text(instruction.label())),
                                     WrittenBy(program, instruction, arenas));
  }

 private:
  class Watched final : public device::Prepared {
   public:
    Watched(std::unique_ptr<device::Prepared> prepared, State& state, std::string label, std::vector<Range> written)
        : prepared_(std::move(prepared)), state_(state), label_(std::move(label)), written_(std::move(written)) {}

    absl::Status Run() override {
      state_.Save();
      absl::Status status = prepared_->Run();
      state_.Compare(label_, written_);
      return status;
    }

   private:
    std::unique_ptr<device::Prepared> prepared_;
    State& state_;
    std::string label_;
    std::vector<Range> written_;
  };

  device::Device& device_;
  State& state_;
};

class WatchedRank::WatchedCommunicator final : public comm::Communicator {
 public:
  WatchedCommunicator(comm::Communicator& communicator, State& state) : inner_(communicator), state_(state) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string name() const override { return inner_.name(); }
  absl::StatusOr<void*> AllocateShared(size_t bytes) override {
    PDC_ASSIGN_OR_RETURN(void* memory, inner_.AllocateShared(bytes + 2 * kZoneBytes));
    return state_.Guard(memory, bytes);
  }
  absl::StatusOr<std::unique_ptr<comm::Group>> CreateGroup(std::vector<int> ranks) override {
    return inner_.CreateGroup(std::move(ranks));
  }
  void SetPosition(comm::Position position) override { inner_.SetPosition(position); }

  using Started = absl::StatusOr<std::unique_ptr<comm::Pending>>;
  Started AllReduce(comm::Group& group, void* data, int64_t count, comm::ElementType type,
                    comm::ReduceOp op) override {
    return Watch(inner_.AllReduce(group, data, count, type, op), data, count * program::ElementBytes(type));
  }
  Started AllGather(comm::Group& group, void* data, const std::vector<int64_t>& counts,
                    comm::ElementType type) override {
    return Watch(inner_.AllGather(group, data, counts, type), data, Sum(counts) * program::ElementBytes(type));
  }
  Started ReduceScatter(comm::Group& group, void* data, const std::vector<int64_t>& counts, comm::ElementType type,
                        comm::ReduceOp op) override {
    return Watch(inner_.ReduceScatter(group, data, counts, type, op), data,
                 Sum(counts) * program::ElementBytes(type));
  }
  Started AllToAll(comm::Group& group, const void* send, void* receive, int64_t count,
                   comm::ElementType type) override {
    auto members = static_cast<int64_t>(group.ranks().size());
    return Watch(inner_.AllToAll(group, send, receive, count, type), receive,
                 members * count * program::ElementBytes(type));
  }
  Started Broadcast(comm::Group& group, void* data, int64_t count, comm::ElementType type, int root) override {
    return Watch(inner_.Broadcast(group, data, count, type, root), data, count * program::ElementBytes(type));
  }
  Started Send(const void* data, size_t bytes, int peer, int tag) override {
    return Watch(inner_.Send(data, bytes, peer, tag), nullptr, 0);
  }
  Started Receive(void* data, size_t bytes, int peer, int tag) override {
    return Watch(inner_.Receive(data, bytes, peer, tag), data, static_cast<int64_t>(bytes));
  }
  absl::Status Barrier(comm::Clock::time_point deadline) override { return inner_.Barrier(deadline); }
  void Abort(const absl::Status& why) override { inner_.Abort(why); }

 private:
  class Watched final : public comm::Pending {
   public:
    Watched(std::unique_ptr<comm::Pending> pending, State& state, Range range)
        : pending_(std::move(pending)), state_(state) {
      place_ = state_.in_flight.insert(state_.in_flight.end(), std::vector<Range>{range});
    }
    ~Watched() override {
      if (!is_over_) state_.in_flight.erase(place_);
    }
    absl::Status Wait(comm::Clock::time_point deadline) override {
      absl::Status status = pending_->Wait(deadline);
      if (!is_over_) state_.in_flight.erase(place_);
      is_over_ = true;
      return status;
    }

   private:
    std::unique_ptr<comm::Pending> pending_;
    State& state_;
    std::list<std::vector<Range>>::iterator place_;
    bool is_over_ = false;
  };

  static int64_t Sum(const std::vector<int64_t>& counts) {
    int64_t sum = 0;
    for (int64_t count : counts) sum += count;
    return sum;
  }

  // `data`: what the operation may write until it is over.
  Started Watch(Started started, void* data, int64_t bytes) {
    if (!started.ok()) return started;
    const auto* begin = static_cast<const std::byte*>(data);
    return std::make_unique<Watched>(*std::move(started), state_, Range{begin, begin + bytes});
  }

  comm::Communicator& inner_;
  State& state_;
};

WatchedRank::WatchedRank(device::Device& device, comm::Communicator& communicator)
    : state_(std::make_unique<State>()),
      device_(std::make_unique<WatchedDevice>(device, *state_)),
      communicator_(std::make_unique<WatchedCommunicator>(communicator, *state_)) {}

WatchedRank::~WatchedRank() = default;

device::Device& WatchedRank::device() { return *device_; }
comm::Communicator& WatchedRank::communicator() { return *communicator_; }

std::string WatchedRank::Corruption() const {
  if (!state_->corruption.empty()) return state_->corruption;
  for (const Arena& arena : state_->arenas) {
    State::Poison(arena, false);
    auto is_whole = [](const std::byte* zone) {
      return std::all_of(zone, zone + kZoneBytes, [](std::byte b) { return b == std::byte{kPattern}; });
    };
    bool whole = is_whole(arena.data - kZoneBytes) && is_whole(arena.data + arena.bytes);
    State::Poison(arena, true);
    if (!whole) return "an arena of " + std::to_string(arena.bytes) + " bytes was left";
  }
  return "";
}

}  // namespace pdc::fuzz
