#include "runtime/profile/links.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

#include "runtime/base/status.h"

namespace pdc::profile {

namespace {

using comm::Clock;
using comm::Communicator;
using comm::ElementType;
using comm::Group;
using comm::Pending;
using comm::ReduceOp;

constexpr int kMostRepeats = 21;
// A measurement is of several operations one after another where one is shorter than this: leaving the barrier before
// it takes ranks as long.
constexpr double kShortSeconds = 500e-6;
constexpr int kMostAtOnce = 8;
constexpr int kTag = 1 << 20;

Clock::time_point Deadline() { return Clock::now() + std::chrono::seconds(60); }

absl::Status Finish(absl::StatusOr<std::unique_ptr<Pending>> pending) {
  if (!pending.ok()) return pending.status();
  return (*pending)->Wait(Deadline());
}

// The ranks of each node.
std::vector<std::vector<int>> NodesOf(const Communicator& communicator) {
  std::vector<std::vector<int>> nodes;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto node = static_cast<size_t>(communicator.node(rank));
    if (nodes.size() <= node) nodes.resize(node + 1);
    nodes[node].push_back(rank);
  }
  return nodes;
}

class LinkMeter {
 public:
  LinkMeter(Communicator& communicator, bool quick)
      : communicator_(communicator), budget_seconds_(quick ? 0.03 : 0.2), nodes_(NodesOf(communicator)) {
    sizes_ = quick ? std::vector<size_t>{64 << 10, 1 << 20}
                   : std::vector<size_t>{1 << 10, 16 << 10, 64 << 10, 256 << 10, 2 << 20, 16 << 20};
  }

  absl::StatusOr<std::vector<LinkMeasurement>> Run();

 private:
  // Groups of one shape that are disjoint; this rank's group is null if it is in none.
  struct Shape {
    int ranks_per_node, nodes, groups;
    std::unique_ptr<Group> mine;
  };

  absl::Status Prepare();
  absl::StatusOr<Shape> MakeShape(int ranks_per_node, int nodes, const std::vector<std::vector<int>>& groups);
  absl::Status MeasureCollectives(const Shape& shape);
  absl::Status MeasureMessages(int peer, int ranks_per_node, int nodes);
  absl::Status Collective(const std::string& kind, Group& group, size_t bytes);
  absl::Status PingPong(int peer, size_t bytes);
  absl::Status Exchange(int peer, size_t bytes);
  // Times `operation` on the ranks where it is set; the time of a round is that of its slowest rank.
  absl::StatusOr<LinkPoint> Time(size_t bytes, const std::function<absl::Status()>& operation);
  absl::Status Slowest(double* seconds, int count);

  Communicator& communicator_;
  const double budget_seconds_;
  const std::vector<std::vector<int>> nodes_;
  std::vector<size_t> sizes_;
  std::unique_ptr<Group> world_;
  std::byte* data_ = nullptr;  // twice the largest size, with room for the rounding of parts
  double* times_ = nullptr;    // kMostRepeats, and one more
  std::vector<LinkMeasurement> results_;
};

absl::Status LinkMeter::Prepare() {
  std::vector<int> all(communicator_.size());
  std::iota(all.begin(), all.end(), 0);
  PDC_ASSIGN_OR_RETURN(world_, communicator_.CreateGroup(std::move(all)));
  PDC_ASSIGN_OR_RETURN(void* data, communicator_.AllocateShared(2 * sizes_.back()));
  PDC_ASSIGN_OR_RETURN(void* times, communicator_.AllocateShared((kMostRepeats + 1) * sizeof(double)));
  data_ = static_cast<std::byte*>(data);
  times_ = static_cast<double*>(times);
  return absl::OkStatus();
}

absl::Status LinkMeter::Slowest(double* seconds, int count) {
  return Finish(communicator_.AllReduce(*world_, seconds, count, ElementType::kF64, ReduceOp::kMax));
}

absl::StatusOr<LinkPoint> LinkMeter::Time(size_t bytes, const std::function<absl::Status()>& operation) {
  auto round = [&](int batch) -> absl::StatusOr<double> {
    PDC_RETURN_IF_ERROR(communicator_.Barrier(Deadline()));
    const double begin = Now();
    for (int i = 0; i < batch && operation; ++i) PDC_RETURN_IF_ERROR(operation());
    return operation ? (Now() - begin) / batch : 0.0;
  };
  // The first makes connections and buffers; the second says how often there is time for it.
  PDC_RETURN_IF_ERROR(round(1).status());
  PDC_ASSIGN_OR_RETURN(times_[0], round(1));
  PDC_RETURN_IF_ERROR(Slowest(times_, 1));
  const double once = std::max(times_[0], 1e-9);
  const int batch = static_cast<int>(std::clamp<double>(kShortSeconds / once, 1, kMostAtOnce));
  const int repeats = static_cast<int>(std::clamp<double>(budget_seconds_ / (once * batch), 3, kMostRepeats));
  std::vector<double> mine;
  const double begin = Now(), worked = ProcessorSeconds();
  for (int i = 0; i < repeats; ++i) {
    PDC_ASSIGN_OR_RETURN(double seconds, round(batch));
    mine.push_back(seconds);
  }
  const double work = operation ? (ProcessorSeconds() - worked) / (Now() - begin) : 0;
  std::copy(mine.begin(), mine.end(), times_);
  times_[repeats] = work;
  PDC_RETURN_IF_ERROR(Slowest(times_, repeats + 1));
  return LinkPoint{static_cast<double>(bytes), Summarize(std::vector<double>(times_, times_ + repeats)), times_[repeats]};
}

absl::Status LinkMeter::Collective(const std::string& kind, Group& group, size_t bytes) {
  const auto members = static_cast<int64_t>(group.ranks().size());
  const auto count = static_cast<int64_t>(bytes / sizeof(float));
  const std::vector<int64_t> counts(members, count / members);
  const ElementType type = ElementType::kF32;
  if (kind == "all_reduce") return Finish(communicator_.AllReduce(group, data_, count, type, ReduceOp::kSum));
  if (kind == "all_gather") return Finish(communicator_.AllGather(group, data_, counts, type));
  if (kind == "reduce_scatter") {
    return Finish(communicator_.ReduceScatter(group, data_, counts, type, ReduceOp::kSum));
  }
  if (kind == "broadcast") return Finish(communicator_.Broadcast(group, data_, count, type, 0));
  return Finish(communicator_.AllToAll(group, data_, data_ + bytes, count / members, type));
}

absl::Status LinkMeter::PingPong(int peer, size_t bytes) {
  if (communicator_.rank() != 0) {
    PDC_RETURN_IF_ERROR(Finish(communicator_.Receive(data_, bytes, 0, kTag)));
    return Finish(communicator_.Send(data_, bytes, 0, kTag));
  }
  PDC_RETURN_IF_ERROR(Finish(communicator_.Send(data_, bytes, peer, kTag)));
  return Finish(communicator_.Receive(data_, bytes, peer, kTag));
}

absl::Status LinkMeter::Exchange(int peer, size_t bytes) {
  const int other = communicator_.rank() == 0 ? peer : 0;
  PDC_ASSIGN_OR_RETURN(auto receive, communicator_.Receive(data_ + bytes, bytes, other, kTag));
  PDC_ASSIGN_OR_RETURN(auto send, communicator_.Send(data_, bytes, other, kTag));
  PDC_RETURN_IF_ERROR(send->Wait(Deadline()));
  return receive->Wait(Deadline());
}

absl::StatusOr<LinkMeter::Shape> LinkMeter::MakeShape(int ranks_per_node, int nodes,
                                                      const std::vector<std::vector<int>>& groups) {
  Shape shape{ranks_per_node, nodes, static_cast<int>(groups.size()), nullptr};
  for (const std::vector<int>& ranks : groups) {
    if (std::count(ranks.begin(), ranks.end(), communicator_.rank()) == 0) continue;
    PDC_ASSIGN_OR_RETURN(shape.mine, communicator_.CreateGroup(ranks));
  }
  return shape;
}

absl::Status LinkMeter::MeasureCollectives(const Shape& shape) {
  for (const char* kind : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}) {
    LinkMeasurement result{kind, shape.ranks_per_node, shape.nodes, shape.groups, {}};
    for (size_t bytes : sizes_) {
      std::function<absl::Status()> operation;
      if (shape.mine != nullptr) operation = [&, bytes] { return Collective(kind, *shape.mine, bytes); };
      PDC_ASSIGN_OR_RETURN(LinkPoint point, Time(bytes, operation));
      result.points.push_back(point);
    }
    results_.push_back(std::move(result));
  }
  return absl::OkStatus();
}

absl::Status LinkMeter::MeasureMessages(int peer, int ranks_per_node, int nodes) {
  const bool takes_part = communicator_.rank() == 0 || communicator_.rank() == peer;
  LinkMeasurement one_way{"point_to_point", ranks_per_node, nodes, 1, {}}, exchange{"exchange", ranks_per_node, nodes, 1, {}};
  std::vector<size_t> sizes = sizes_;
  sizes.front() = 8;
  for (size_t bytes : sizes) {
    std::function<absl::Status()> there_and_back, both_at_once;
    if (takes_part) {
      there_and_back = [&, bytes] { return PingPong(peer, bytes); };
      both_at_once = [&, bytes] { return Exchange(peer, bytes); };
    }
    PDC_ASSIGN_OR_RETURN(LinkPoint point, Time(bytes, there_and_back));
    point.sample.seconds /= 2;
    one_way.points.push_back(point);
    PDC_ASSIGN_OR_RETURN(point, Time(bytes, both_at_once));
    exchange.points.push_back(point);
  }
  results_.push_back(std::move(one_way));
  results_.push_back(std::move(exchange));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LinkMeasurement>> LinkMeter::Run() {
  if (communicator_.size() == 1) return std::vector<LinkMeasurement>();
  PDC_RETURN_IF_ERROR(Prepare());
  size_t fullest = 0, emptiest = nodes_[0].size();
  for (const std::vector<int>& ranks : nodes_) {
    fullest = std::max(fullest, ranks.size());
    emptiest = std::min(emptiest, ranks.size());
  }
  const int node_count = static_cast<int>(nodes_.size());
  // A node's barrier, and that of a rank of each node: the smallest all_reduce.
  sizes_.insert(sizes_.begin(), sizeof(float) * static_cast<size_t>(communicator_.size()));
  if (fullest > 1) {
    std::vector<std::vector<int>> groups;
    for (const std::vector<int>& ranks : nodes_) {
      if (ranks.size() == fullest) groups.push_back(ranks);
    }
    PDC_ASSIGN_OR_RETURN(Shape shape, MakeShape(static_cast<int>(fullest), 1, groups));
    PDC_RETURN_IF_ERROR(MeasureCollectives(shape));
  }
  if (node_count > 1) {
    std::vector<std::vector<int>> groups;
    for (size_t place = 0; place < emptiest; ++place) {
      groups.emplace_back();
      for (const std::vector<int>& ranks : nodes_) groups.back().push_back(ranks[place]);
    }
    PDC_ASSIGN_OR_RETURN(Shape shape, MakeShape(1, node_count, groups));
    PDC_RETURN_IF_ERROR(MeasureCollectives(shape));
  }
  // Nodes that are alike: elsewhere no number a node describes the group of all.
  if (fullest > 1 && node_count > 1 && fullest == emptiest) {
    std::vector<int> all(communicator_.size());
    std::iota(all.begin(), all.end(), 0);
    PDC_ASSIGN_OR_RETURN(Shape shape, MakeShape(static_cast<int>(fullest), node_count, {all}));
    PDC_RETURN_IF_ERROR(MeasureCollectives(shape));
  }
  if (nodes_[0].size() > 1) PDC_RETURN_IF_ERROR(MeasureMessages(nodes_[0][1], 2, 1));
  if (node_count > 1) PDC_RETURN_IF_ERROR(MeasureMessages(nodes_[1][0], 1, 2));
  return std::move(results_);
}

}  // namespace

absl::StatusOr<std::vector<LinkMeasurement>> MeasureLinks(Communicator& communicator, bool quick) {
  return LinkMeter(communicator, quick).Run();
}

}  // namespace pdc::profile
