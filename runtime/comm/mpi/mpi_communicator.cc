#include "runtime/comm/mpi/mpi_communicator.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/logging.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/comm/async_communicator.h"
#include "runtime/comm/element.h"
#include "runtime/comm/mpi/mpi_channels.h"
#include "runtime/comm/mpi/mpi_exchange.h"

namespace pdc::comm {

namespace {

constexpr size_t kCacheLineBytes = 64;

class MpiGroup final : public OrderedGroup {
 public:
  MpiGroup(std::vector<int> ranks, int index, MPI_Comm comm)
      : OrderedGroup(std::move(ranks), index), comm(comm) {}
  const MPI_Comm comm;  // its ranks are indices of this group; owned by the communicator
};

struct MpiState final : public TransportState {
  MpiExchange exchange;
  std::vector<size_t> offsets;   // where each member's slice begins in the buffer, and the end, in bytes
  std::vector<std::byte> parts;  // of the others, of the piece that is being reduced
  std::vector<const void*> sources;
};

// The phases of an operation; k...Wait polls what the phase before it started.
enum Phase : int {
  kBegin,
  kScatter,
  kScatterWait,
  kGather,
  kGatherWait,
  kSwap,
  kSwapWait,
  kBroadcastPiece,
  kBroadcastWait
};

class MpiCommunicator final : public AsyncCommunicator {
 public:
  static absl::StatusOr<std::unique_ptr<Communicator>> Create(std::shared_ptr<MpiJob> job);
  ~MpiCommunicator() override;

  std::string name() const override { return "mpi"; }
  int node(int rank) const override { return job_->nodes()[rank]; }
  absl::StatusOr<void*> AllocateShared(size_t bytes) override;
  absl::StatusOr<std::unique_ptr<Group>> CreateGroup(std::vector<int> ranks) override;
  void Abort(const absl::Status& why) override {
    MpiJob::Report(why);
    MpiJob::End();
  }

 protected:
  absl::StatusOr<Progress> Step(Operation& operation) override;
  absl::Status Service() override { return channels_.Answer(board().position()); }
  absl::Status CheckMemory(const Operation&) override { return absl::OkStatus(); }
  std::string DescribeMissing(Operation& operation) override;

 private:
  explicit MpiCommunicator(std::shared_ptr<MpiJob> job)
      : AsyncCommunicator(job->rank(), job->size(), &board_, kMpiLongestSleep, kMpiIdleSleep),
        job_(std::move(job)) {}

  absl::Status Begin();

  absl::StatusOr<Progress> StepCollective(Operation& operation, MpiState& state, MpiGroup& group);
  absl::Status BeginCollective(Operation& operation, MpiState& state, const MpiGroup& group);
  absl::Status PostScatter(Operation& operation, MpiState& state, const MpiGroup& group);
  void ReducePiece(Operation& operation, MpiState& state, const MpiGroup& group);
  absl::Status PostGather(Operation& operation, MpiState& state, const MpiGroup& group);
  absl::Status PostSwap(Operation& operation, MpiState& state, const MpiGroup& group);
  absl::Status PostBroadcast(Operation& operation, MpiState& state, const MpiGroup& group);

  const std::shared_ptr<MpiJob> job_;
  RankBoard board_ = {};
  MpiChannels channels_;
  bool begun_ = false;
  std::vector<HugeMemory> memory_;
};

// Setting up.

absl::StatusOr<std::unique_ptr<Communicator>> MpiCommunicator::Create(std::shared_ptr<MpiJob> job) {
  std::unique_ptr<MpiCommunicator> created(new MpiCommunicator(std::move(job)));
  PDC_RETURN_IF_ERROR(created->Begin());
  return std::unique_ptr<Communicator>(std::move(created));
}

absl::Status MpiCommunicator::Begin() {
  std::vector<int> all(size());
  for (int i = 0; i < size(); ++i) all[i] = i;
  PDC_RETURN_IF_ERROR(channels_.Begin(job_));
  StartThread(std::make_unique<MpiGroup>(std::move(all), rank(), channels_.world()));
  begun_ = true;
  return absl::OkStatus();
}

MpiCommunicator::~MpiCommunicator() {
  if (begun_ && !failed()) {
    absl::Status status = Barrier(Clock::now() + job_->setup_timeout());
    if (!status.ok()) PDC_LOG(Error) << "at the end of the job: " << status.ToString();
  }
  StopThread();
  if (!begun_ || failed()) {
    // Ending MPI in order waits for all ranks.
    job_->MarkBroken();
    return;
  }
  channels_.End();
}

absl::StatusOr<void*> MpiCommunicator::AllocateShared(size_t bytes) {
  PDC_ASSIGN_OR_RETURN(HugeMemory memory, HugeMemory::Allocate(bytes));
  memory_.push_back(std::move(memory));
  return static_cast<void*>(memory_.back().data());
}

absl::StatusOr<std::unique_ptr<Group>> MpiCommunicator::CreateGroup(std::vector<int> ranks) {
  PDC_ASSIGN_OR_RETURN(int index, CheckRanks(ranks));
  PDC_ASSIGN_OR_RETURN(MPI_Comm comm, channels_.CreateComm(ranks, index));
  return Adopt(std::make_unique<MpiGroup>(std::move(ranks), index, comm));
}

// Operations.

absl::StatusOr<Progress> MpiCommunicator::Step(Operation& operation) {
  if (operation.state == nullptr) operation.state = std::make_unique<MpiState>();
  auto& state = static_cast<MpiState&>(*operation.state);
  if (operation.group == nullptr) return channels_.StepMessage(operation, state.exchange);
  return StepCollective(operation, state, static_cast<MpiGroup&>(*operation.group));
}

absl::StatusOr<Progress> MpiCommunicator::StepCollective(Operation& operation, MpiState& state,
                                                         MpiGroup& group) {
  auto go_to = [&operation](Phase phase) {
    operation.phase = phase;
    return Progress::kMoved;
  };
  switch (static_cast<Phase>(operation.phase)) {
    case kBegin:
      PDC_RETURN_IF_ERROR(BeginCollective(operation, state, group));
      if (group.size() == 1) return Progress::kDone;
      switch (operation.kind) {
        case OperationKind::kAllGather:
          return go_to(kGather);
        case OperationKind::kAllToAll:
        case OperationKind::kBarrier:
          return go_to(kSwap);
        case OperationKind::kBroadcast:
          return go_to(kBroadcastPiece);
        default:
          return go_to(kScatter);
      }
    case kScatter:
      PDC_RETURN_IF_ERROR(PostScatter(operation, state, group));
      return go_to(kScatterWait);
    case kGather:
      PDC_RETURN_IF_ERROR(PostGather(operation, state, group));
      return go_to(kGatherWait);
    case kSwap:
      PDC_RETURN_IF_ERROR(PostSwap(operation, state, group));
      return go_to(kSwapWait);
    case kBroadcastPiece:
      PDC_RETURN_IF_ERROR(PostBroadcast(operation, state, group));
      return go_to(kBroadcastWait);
    default:
      break;
  }
  PDC_ASSIGN_OR_RETURN(bool done, state.exchange.Poll());
  if (!done) return Progress::kBlocked;
  if (operation.phase == kScatterWait) {
    ReducePiece(operation, state, group);
    if (operation.kind == OperationKind::kAllReduce) return go_to(kGather);
  }
  // `offset` is how far the pieces of all slices have come; the longest slice decides.
  operation.offset += kMpiPieceBytes;
  size_t longest = 0;
  for (size_t i = 0; i + 1 < state.offsets.size(); ++i) {
    longest = std::max(longest, state.offsets[i + 1] - state.offsets[i]);
  }
  if (operation.offset >= longest) return Progress::kDone;
  switch (operation.kind) {
    case OperationKind::kAllGather:
      return go_to(kGather);
    case OperationKind::kAllToAll:
      return go_to(kSwap);
    case OperationKind::kBroadcast:
      return go_to(kBroadcastPiece);
    default:
      return go_to(kScatter);
  }
}

absl::Status MpiCommunicator::BeginCollective(Operation& operation, MpiState& state, const MpiGroup& group) {
  const size_t element = ElementBytes(operation.type);
  const int members = group.size();
  state.offsets.assign(members + 1, 0);
  switch (operation.kind) {
    case OperationKind::kAllReduce: {
      const size_t lines = (operation.bytes + kCacheLineBytes - 1) / kCacheLineBytes;
      const size_t slice = (lines + members - 1) / members * kCacheLineBytes;
      for (int i = 0; i <= members; ++i) state.offsets[i] = std::min(operation.bytes, i * slice);
      break;
    }
    case OperationKind::kAllGather:
    case OperationKind::kReduceScatter:
      for (int i = 0; i < members; ++i)
        state.offsets[i + 1] = state.offsets[i] + operation.counts[i] * element;
      break;
    case OperationKind::kAllToAll:
      for (int i = 0; i <= members; ++i) state.offsets[i] = i * operation.count * element;
      if (operation.bytes > 0) {
        std::memcpy(static_cast<std::byte*>(operation.data) + state.offsets[group.index()],
                    static_cast<const std::byte*>(operation.send) + state.offsets[group.index()],
                    operation.count * element);
      }
      break;
    case OperationKind::kBroadcast:
      state.offsets.assign({0, operation.bytes});
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

// The bytes of slice `i` that the current piece covers.
struct Piece {
  size_t begin;
  size_t bytes;
};

Piece PieceOf(const Operation& operation, const MpiState& state, int i) {
  const size_t begin = std::min(state.offsets[i] + operation.offset, state.offsets[i + 1]);
  return {begin, std::min(kMpiPieceBytes, state.offsets[i + 1] - begin)};
}

absl::Status MpiCommunicator::PostScatter(Operation& operation, MpiState& state, const MpiGroup& group) {
  auto* data = static_cast<std::byte*>(operation.data);
  const Piece mine = PieceOf(operation, state, group.index());
  if (state.parts.size() < mine.bytes * group.size()) state.parts.resize(mine.bytes * group.size());
  for (int i = 0; i < group.size(); ++i) {
    if (i == group.index() || mine.bytes == 0) continue;
    PDC_RETURN_IF_ERROR(state.exchange.Receive(group.comm, state.parts.data() + i * mine.bytes, mine.bytes, i,
                                               TagOf(operation, kScatter)));
  }
  for (int i = 0; i < group.size(); ++i) {
    const Piece theirs = PieceOf(operation, state, i);
    if (i == group.index() || theirs.bytes == 0) continue;
    PDC_RETURN_IF_ERROR(
        state.exchange.Send(group.comm, data + theirs.begin, theirs.bytes, i, TagOf(operation, kScatter)));
  }
  return absl::OkStatus();
}

void MpiCommunicator::ReducePiece(Operation& operation, MpiState& state, const MpiGroup& group) {
  const Piece mine = PieceOf(operation, state, group.index());
  if (mine.bytes == 0) return;
  void* out = static_cast<std::byte*>(operation.data) + mine.begin;
  state.sources.resize(group.size());
  for (int i = 0; i < group.size(); ++i) {
    state.sources[i] = i == group.index() ? out : state.parts.data() + i * mine.bytes;
  }
  Reduce(operation.type, operation.reduce, state.sources.data(), group.size(), &out, 1,
         static_cast<int64_t>(mine.bytes / ElementBytes(operation.type)));
}

absl::Status MpiCommunicator::PostGather(Operation& operation, MpiState& state, const MpiGroup& group) {
  auto* data = static_cast<std::byte*>(operation.data);
  const Piece mine = PieceOf(operation, state, group.index());
  for (int i = 0; i < group.size(); ++i) {
    const Piece theirs = PieceOf(operation, state, i);
    if (i == group.index() || theirs.bytes == 0) continue;
    PDC_RETURN_IF_ERROR(
        state.exchange.Receive(group.comm, data + theirs.begin, theirs.bytes, i, TagOf(operation, kGather)));
  }
  for (int i = 0; i < group.size(); ++i) {
    if (i == group.index() || mine.bytes == 0) continue;
    PDC_RETURN_IF_ERROR(
        state.exchange.Send(group.comm, data + mine.begin, mine.bytes, i, TagOf(operation, kGather)));
  }
  return absl::OkStatus();
}

// all_to_all; and barrier, which swaps messages of no bytes.
absl::Status MpiCommunicator::PostSwap(Operation& operation, MpiState& state, const MpiGroup& group) {
  const bool barrier = operation.kind == OperationKind::kBarrier;
  auto* receive = static_cast<std::byte*>(operation.data);
  const auto* send = static_cast<const std::byte*>(operation.send);
  for (int i = 0; i < group.size(); ++i) {
    const Piece piece = barrier ? Piece{0, 0} : PieceOf(operation, state, i);
    if (i == group.index() || (piece.bytes == 0 && !barrier)) continue;
    PDC_RETURN_IF_ERROR(state.exchange.Receive(group.comm, barrier ? nullptr : receive + piece.begin,
                                               piece.bytes, i, TagOf(operation, kSwap)));
    PDC_RETURN_IF_ERROR(state.exchange.Send(group.comm, barrier ? nullptr : send + piece.begin, piece.bytes,
                                            i, TagOf(operation, kSwap)));
  }
  return absl::OkStatus();
}

absl::Status MpiCommunicator::PostBroadcast(Operation& operation, MpiState& state, const MpiGroup& group) {
  const Piece piece = PieceOf(operation, state, 0);
  if (piece.bytes == 0) return absl::OkStatus();
  return state.exchange.Broadcast(group.comm, static_cast<std::byte*>(operation.data) + piece.begin,
                                  piece.bytes, operation.root);
}

// Deadlines.

std::string MpiCommunicator::DescribeMissing(Operation& operation) {
  std::vector<int> waited_for;
  std::vector<int> members;
  if (operation.group == nullptr) {
    waited_for = members = {operation.peer};
  } else {
    members = operation.group->ranks();
    if (operation.state != nullptr) {
      for (int index : static_cast<MpiState&>(*operation.state).exchange.PendingSources()) {
        waited_for.push_back(members[index]);
      }
    }
    members.erase(members.begin() + operation.group->index());
  }
  const std::string text = channels_.DescribeMissing(members, waited_for, board().position());
  return text.empty() ? "all ranks have answered" : text;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> CreateMpiCommunicator(std::shared_ptr<MpiJob> job) {
  return MpiCommunicator::Create(std::move(job));
}

}  // namespace pdc::comm
