#include "runtime/comm/inprocess/world.h"

#include <mutex>
#include <string>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/comm/intranode/intranode_communicator.h"

namespace pdc::comm {

namespace {

// What the ranks share. It lives as long as the last of them: a rank that failed may go while another one is
// still reading its memory.
struct World {
  HugeMemory control;
  std::mutex mutex;
  std::vector<std::vector<HugeMemory>> regions;  // of each rank
};

// The memory of a rank. Threads share all addresses; still only shared regions are found, so that a program that
// works here works on processes.
class ThreadMemory final : public NodeMemory {
 public:
  ThreadMemory(int rank, std::shared_ptr<World> world) : rank_(rank), world_(std::move(world)) {}

  absl::StatusOr<void*> Allocate(size_t bytes) {
    PDC_ASSIGN_OR_RETURN(HugeMemory memory, HugeMemory::Allocate(bytes));
    void* data = memory.data();
    std::lock_guard<std::mutex> lock(world_->mutex);
    world_->regions[rank_].push_back(std::move(memory));
    return data;
  }

  absl::StatusOr<Location> Locate(const void* memory, size_t bytes) override {
    const auto* begin = static_cast<const std::byte*>(memory);
    std::lock_guard<std::mutex> lock(world_->mutex);
    for (const HugeMemory& region : world_->regions[rank_]) {
      if (begin >= region.data() && begin + bytes <= region.data() + region.bytes()) {
        return Location{0, reinterpret_cast<uint64_t>(memory)};
      }
    }
    return absl::NotFoundError("not in shared memory");
  }

  std::byte* Resolve(int, const Location& location) override {
    return reinterpret_cast<std::byte*>(location.offset);
  }

 private:
  const int rank_;
  const std::shared_ptr<World> world_;
};

class InProcessCommunicator final : public IntranodeCommunicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(int rank, int size,
                                                              std::shared_ptr<World> world) {
    const ControlBlock block(world->control.data(), size);
    std::unique_ptr<InProcessCommunicator> created(
        new InProcessCommunicator(rank, size, block, std::make_unique<ThreadMemory>(rank, std::move(world))));
    PDC_RETURN_IF_ERROR(created->Begin());
    return std::unique_ptr<Communicator>(std::move(created));
  }
  ~InProcessCommunicator() override { StopThread(); }

  std::string name() const override { return "inprocess"; }

  absl::StatusOr<void*> AllocateShared(size_t bytes) override { return memory_->Allocate(bytes); }

 private:
  InProcessCommunicator(int rank, int size, ControlBlock block, std::unique_ptr<ThreadMemory> memory)
      : IntranodeCommunicator(rank, size, block, memory.get()), memory_(std::move(memory)) {}

  const std::unique_ptr<ThreadMemory> memory_;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> CreateInProcessWorld(int ranks) {
  if (ranks < 1 || ranks > GroupRecord::kMaxRanks) {
    return absl::InvalidArgumentError("a world of " + std::to_string(ranks) + " ranks; expected 1 to " +
                                      std::to_string(GroupRecord::kMaxRanks));
  }
  auto shared = std::make_shared<World>();
  PDC_ASSIGN_OR_RETURN(shared->control, HugeMemory::Allocate(ControlBlock::Bytes(ranks)));
  shared->regions.resize(ranks);
  std::vector<std::unique_ptr<Communicator>> world;
  for (int rank = 0; rank < ranks; ++rank) {
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator,
                         InProcessCommunicator::Create(rank, ranks, shared));
    world.push_back(std::move(communicator));
  }
  return world;
}

}  // namespace pdc::comm
