#include "runtime/comm/hierarchical/spanning_collective.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/status.h"
#include "runtime/comm/element.h"
#include "runtime/comm/mpi/mpi_channels.h"

namespace pdc::comm {

namespace {

// Of the pieces in which slices travel: small where many nodes send at once, so that scratch memory stays small.
constexpr size_t kSmallestPieceBytes = size_t{64} << 10;
constexpr size_t kRoundBytes = size_t{4} << 20;
constexpr size_t kCacheLineBytes = 64;

// Operation::phase.
enum Phase : int { kBegin, kArrive, kPost, kExchange, kLeave };

// An all_reduce of so many bytes over more than two nodes is bound by latency, not by the links.
constexpr size_t kShortBytes = size_t{16} << 10;

size_t PieceBytesFor(size_t parts) {
  return std::clamp(std::bit_floor(kRoundBytes / parts), kSmallestPieceBytes, kMpiPieceBytes);
}

}  // namespace

SpanningCollective::Stage SpanningCollective::StageOf(const Operation& operation, int index) const {
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      return index == 0 ? Stage::kReduce : index == 1 && !in_one_exchange_ ? Stage::kGather : Stage::kNone;
    case OperationKind::kBroadcast:
      return index == 0 ? Stage::kScatter : index == 1 ? Stage::kGather : Stage::kNone;
    case OperationKind::kReduceScatter:
      return index == 0 ? Stage::kReduce : Stage::kNone;
    case OperationKind::kAllGather:
      return index == 0 ? Stage::kGather : Stage::kNone;
    case OperationKind::kAllToAll:
      return index == 0 ? Stage::kSwap : Stage::kNone;
    default:
      return index == 0 ? Stage::kMeet : Stage::kNone;
  }
}

uint64_t SpanningCollective::AwaitedStage(const Operation& operation) {
  if (operation.phase == kArrive) return NodeTransport::AnnouncedStage(operation);
  if (operation.phase == kLeave) return NodeTransport::FinishedStage(operation);
  return 0;
}

absl::StatusOr<Progress> SpanningCollective::Step(Operation& operation, HierarchicalGroup& group,
                                                  NodeTransport& node) {
  const Scene scene{operation, group, node, group.index(), group.placement.node_of[group.index()]};
  const bool empty = operation.bytes == 0 && operation.kind != OperationKind::kBarrier;
  switch (static_cast<Phase>(operation.phase)) {
    case kBegin:
      PDC_RETURN_IF_ERROR(Begin(scene));
      if (!scene.alone()) PDC_RETURN_IF_ERROR(node.Announce(operation, *group.node));
      operation.phase = kArrive;
      return Progress::kMoved;
    case kArrive:
      if (!scene.alone()) {
        if (!node.AllReached(*group.node, NodeTransport::AnnouncedStage(operation)))
          return Progress::kBlocked;
        PDC_RETURN_IF_ERROR(node.CheckAnnouncements(operation, *group.node));
      }
      if (!empty) PDC_RETURN_IF_ERROR(Arrive(scene));
      operation.slot = 0;
      operation.phase = empty ? kExchange : kPost;
      return Progress::kMoved;
    case kPost:
      PDC_RETURN_IF_ERROR(Post(scene));
      operation.phase = kExchange;
      return Progress::kMoved;
    case kExchange: {
      PDC_ASSIGN_OR_RETURN(bool done, exchange.Poll());
      if (!done) return Progress::kBlocked;
      if (!empty) Complete(scene);
      if (StageOf(operation, ++operation.slot) == Stage::kNone) {
        operation.slot = 0;
        operation.offset += piece_bytes_;
        if (empty || operation.offset >= longest_) {
          if (scene.alone()) return Progress::kDone;
          node.SetStage(*group.node, NodeTransport::FinishedStage(operation));
          operation.phase = kLeave;
          return Progress::kMoved;
        }
      }
      operation.phase = kPost;
      return Progress::kMoved;
    }
    case kLeave:
      return node.AllReached(*group.node, NodeTransport::FinishedStage(operation)) ? Progress::kDone
                                                                                   : Progress::kBlocked;
  }
  return absl::InternalError("unknown phase");
}

// Divides the buffer, and makes room for what a round receives.
absl::Status SpanningCollective::Begin(const Scene& scene) {
  const Operation& operation = scene.operation;
  const Placement& placement = scene.group.placement;
  const size_t nodes = placement.nodes.size();
  const size_t element = ElementBytes(operation.type);
  slices_.clear();
  longest_ = 0;
  size_t room = 0;
  auto need = [&room](size_t bytes) {
    room += (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  };
  piece_bytes_ = PieceBytesFor(nodes);
  switch (operation.kind) {
    case OperationKind::kAllReduce:
      in_one_exchange_ = nodes == 2 || operation.bytes <= kShortBytes;
      if (in_one_exchange_) {
        RailSlices(placement, operation.bytes, &slices_);
      } else {
        EvenSlices(placement, operation.bytes, &slices_);
      }
      break;
    case OperationKind::kBroadcast:
      EvenSlices(placement, operation.bytes, &slices_);
      break;
    case OperationKind::kReduceScatter:
    case OperationKind::kAllGather:
      CountedSlices(placement, operation.counts, element, &slices_);
      break;
    case OperationKind::kAllToAll: {
      piece_bytes_ = PieceBytesFor(static_cast<size_t>(placement.members()));
      longest_ = static_cast<size_t>(operation.count) * element;
      const size_t piece = std::min(piece_bytes_, longest_);
      for (int member = 0; member < placement.members(); ++member) {
        if (placement.node_of[member] == scene.my_node) continue;
        if (placement.Speaker(scene.my_node, placement.place_of[member]) == scene.me) {
          need(piece * scene.here().size());
        }
      }
      for (const std::vector<int>& members : placement.nodes) need(piece * members.size());
      break;
    }
    default:
      break;
  }
  const bool reduces = StageOf(operation, 0) == Stage::kReduce;
  const size_t partial = ElementBytes(PartialType(operation.type, operation.reduce));
  for (const Slice& slice : slices_) {
    longest_ = std::max(longest_, slice.bytes);
    if (!reduces || !ISpeakFor(scene, slice)) continue;
    const size_t bytes = std::min(piece_bytes_, slice.bytes) / element * partial;
    for (size_t i = 0; i < (IsHome(scene, slice) ? nodes : 1); ++i) need(bytes);
  }
  if (scratch_.size() < room) scratch_.resize(room);
  parts_.resize(std::max(slices_.size(), size_t{1}) * nodes);
  return absl::OkStatus();
}

// All members of the node have announced their memory.
absl::Status SpanningCollective::Arrive(const Scene& scene) {
  data_of_.clear();
  send_of_.clear();
  if (scene.operation.kind == OperationKind::kBarrier) return absl::OkStatus();
  const bool swaps = scene.operation.kind == OperationKind::kAllToAll;
  for (int place = 0; place < static_cast<int>(scene.here().size()); ++place) {
    if (scene.alone()) {
      data_of_.push_back(static_cast<std::byte*>(scene.operation.data));
      send_of_.push_back(static_cast<const std::byte*>(scene.operation.send));
    } else {
      data_of_.push_back(scene.node.DataOf(*scene.group.node, place));
      if (swaps) send_of_.push_back(scene.node.SendOf(*scene.group.node, place));
    }
  }
  return absl::OkStatus();
}

absl::Status SpanningCollective::Post(const Scene& scene) {
  scratch_used_ = 0;
  switch (StageOf(scene.operation, scene.operation.slot)) {
    case Stage::kReduce:
      return PostReduce(scene);
    case Stage::kScatter:
      return PostScatter(scene);
    case Stage::kGather:
      return PostGather(scene);
    case Stage::kSwap:
      return PostSwap(scene);
    case Stage::kMeet:
      return PostBarrier(scene);
    case Stage::kNone:
      break;
  }
  return absl::OkStatus();
}

void SpanningCollective::Complete(const Scene& scene) {
  switch (StageOf(scene.operation, scene.operation.slot)) {
    case Stage::kReduce:
      return CompleteReduce(scene);
    case Stage::kGather:
      return CompleteGather(scene);
    case Stage::kSwap:
      return CompleteSwap(scene);
    case Stage::kScatter:
    case Stage::kMeet:
    case Stage::kNone:
      return;
  }
}

SpanningCollective::Piece SpanningCollective::PieceOf(const Scene& scene, const Slice& slice) const {
  const size_t offset = std::min(scene.operation.offset, slice.bytes);
  return {slice.begin + offset, std::min(piece_bytes_, slice.bytes - offset)};
}

int SpanningCollective::SpeakerOn(const Scene& scene, const Slice& slice, int node) const {
  const Placement& placement = scene.group.placement;
  if (slice.home >= 0 && placement.node_of[slice.home] == node) return slice.home;
  return placement.Speaker(node, slice.rail);
}

std::byte* SpanningCollective::Source(const Scene& scene) const {
  const Placement& placement = scene.group.placement;
  const int root = scene.operation.root;
  const bool here =
      scene.operation.kind == OperationKind::kBroadcast && placement.node_of[root] == scene.my_node;
  return data_of_[placement.place_of[here ? root : scene.me]];
}

std::byte* SpanningCollective::Scratch(size_t bytes) {
  std::byte* memory = scratch_.data() + scratch_used_;
  scratch_used_ += (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  return memory;
}

// reduce.

absl::Status SpanningCollective::PostReduce(const Scene& scene) {
  const Operation& operation = scene.operation;
  const int nodes = static_cast<int>(scene.group.placement.nodes.size());
  const int tag = TagOf(operation, operation.slot);
  const size_t element = ElementBytes(operation.type);
  const ElementType partial_type = PartialType(operation.type, operation.reduce);
  for (size_t i = 0; i < slices_.size(); ++i) {
    const Piece piece = PieceOf(scene, slices_[i]);
    if (piece.bytes == 0 || !ISpeakFor(scene, slices_[i])) continue;
    const size_t count = piece.bytes / element;
    const size_t bytes = count * ElementBytes(partial_type);
    std::byte* sum = data_of_[scene.group.placement.place_of[scene.me]] + piece.begin;
    if (!scene.alone() || partial_type != operation.type) {
      sum = Scratch(bytes);
      sources_.clear();
      for (std::byte* data : data_of_) sources_.push_back(data + piece.begin);
      ReduceToPartial(operation.type, operation.reduce, sources_.data(), static_cast<int>(sources_.size()),
                      sum, static_cast<int64_t>(count));
    }
    if (!IsHome(scene, slices_[i])) {
      PDC_RETURN_IF_ERROR(exchange.Send(scene.group.comm, sum, bytes, slices_[i].home, tag));
      continue;
    }
    for (int node = 0; node < nodes; ++node) {
      std::byte*& part = parts_[i * nodes + node];
      part = node == scene.my_node ? sum : Scratch(bytes);
      if (node == scene.my_node) continue;
      const int speaker = SpeakerOn(scene, slices_[i], node);
      PDC_RETURN_IF_ERROR(exchange.Receive(scene.group.comm, part, bytes, speaker, tag));
      if (in_one_exchange_ && operation.kind == OperationKind::kAllReduce) {
        PDC_RETURN_IF_ERROR(exchange.Send(scene.group.comm, sum, bytes, speaker, tag));
      }
    }
  }
  return absl::OkStatus();
}

void SpanningCollective::CompleteReduce(const Scene& scene) {
  const Operation& operation = scene.operation;
  const int nodes = static_cast<int>(scene.group.placement.nodes.size());
  std::byte* mine = data_of_[scene.group.placement.place_of[scene.me]];
  for (size_t i = 0; i < slices_.size(); ++i) {
    const Piece piece = PieceOf(scene, slices_[i]);
    if (piece.bytes == 0 || !IsHome(scene, slices_[i])) continue;
    sources_.clear();
    for (int node = 0; node < nodes; ++node) sources_.push_back(parts_[i * nodes + node]);
    outputs_.assign({mine + piece.begin});
    if (operation.kind == OperationKind::kAllReduce) {
      for (std::byte* data : data_of_) {
        if (data != mine) outputs_.push_back(data + piece.begin);
      }
    }
    ReducePartials(operation.type, operation.reduce, sources_.data(), nodes, outputs_.data(),
                   static_cast<int>(outputs_.size()),
                   static_cast<int64_t>(piece.bytes / ElementBytes(operation.type)));
  }
}

// gather.

absl::Status SpanningCollective::PostScatter(const Scene& scene) {
  const Placement& placement = scene.group.placement;
  const int tag = TagOf(scene.operation, scene.operation.slot);
  const int root_node = placement.node_of[scene.operation.root];
  for (const Slice& slice : slices_) {
    const Piece piece = PieceOf(scene, slice);
    if (piece.bytes == 0 || placement.node_of[slice.home] == root_node) continue;
    std::byte* data = Source(scene) + piece.begin;
    const int speaker = SpeakerOn(scene, slice, root_node);
    if (speaker == scene.me) {
      PDC_RETURN_IF_ERROR(exchange.Send(scene.group.comm, data, piece.bytes, slice.home, tag));
    } else if (slice.home == scene.me) {
      PDC_RETURN_IF_ERROR(exchange.Receive(scene.group.comm, data, piece.bytes, speaker, tag));
    }
  }
  return absl::OkStatus();
}

absl::Status SpanningCollective::PostGather(const Scene& scene) {
  const Placement& placement = scene.group.placement;
  const int tag = TagOf(scene.operation, scene.operation.slot);
  // The root's node has everything.
  const int filled =
      scene.operation.kind == OperationKind::kBroadcast ? placement.node_of[scene.operation.root] : -1;
  for (const Slice& slice : slices_) {
    const Piece piece = PieceOf(scene, slice);
    if (piece.bytes == 0 || !ISpeakFor(scene, slice)) continue;
    std::byte* data = Source(scene) + piece.begin;
    if (slice.home != scene.me) {
      if (scene.my_node == filled) continue;
      PDC_RETURN_IF_ERROR(exchange.Receive(scene.group.comm, data, piece.bytes, slice.home, tag));
      continue;
    }
    for (int node = 0; node < static_cast<int>(placement.nodes.size()); ++node) {
      if (node == scene.my_node || node == filled) continue;
      PDC_RETURN_IF_ERROR(
          exchange.Send(scene.group.comm, data, piece.bytes, SpeakerOn(scene, slice, node), tag));
    }
  }
  return absl::OkStatus();
}

void SpanningCollective::CompleteGather(const Scene& scene) {
  const std::byte* source = Source(scene);
  for (const Slice& slice : slices_) {
    const Piece piece = PieceOf(scene, slice);
    if (piece.bytes == 0 || !ISpeakFor(scene, slice)) continue;
    // What was reduced here has been written to all members already.
    if (scene.operation.kind == OperationKind::kAllReduce && slice.home == scene.me) continue;
    for (std::byte* data : data_of_) {
      if (data != source) std::memcpy(data + piece.begin, source + piece.begin, piece.bytes);
    }
  }
}

// all_to_all, barrier.

absl::Status SpanningCollective::PostSwap(const Scene& scene) {
  const Placement& placement = scene.group.placement;
  const int tag = TagOf(scene.operation, scene.operation.slot);
  const size_t block = longest_;
  const size_t offset = scene.operation.offset;
  const size_t piece = std::min(piece_bytes_, block - offset);
  for (int node = 0; node < static_cast<int>(placement.nodes.size()); ++node) {
    if (node == scene.my_node) continue;
    const size_t bytes = piece * placement.nodes[node].size();
    parts_[node] = Scratch(bytes);
    PDC_RETURN_IF_ERROR(exchange.Receive(scene.group.comm, parts_[node], bytes,
                                         placement.Speaker(node, placement.place_of[scene.me]), tag));
  }
  for (int member = 0; member < placement.members(); ++member) {
    if (placement.node_of[member] == scene.my_node) continue;
    if (placement.Speaker(scene.my_node, placement.place_of[member]) != scene.me) continue;
    std::byte* joined = Scratch(piece * send_of_.size());
    for (size_t i = 0; i < send_of_.size(); ++i) {
      std::memcpy(joined + i * piece, send_of_[i] + member * block + offset, piece);
    }
    PDC_RETURN_IF_ERROR(exchange.Send(scene.group.comm, joined, piece * send_of_.size(), member, tag));
  }
  return absl::OkStatus();
}

void SpanningCollective::CompleteSwap(const Scene& scene) {
  const Placement& placement = scene.group.placement;
  auto* receive = static_cast<std::byte*>(scene.operation.data);
  const size_t block = longest_;
  const size_t offset = scene.operation.offset;
  const size_t piece = std::min(piece_bytes_, block - offset);
  for (int node = 0; node < static_cast<int>(placement.nodes.size()); ++node) {
    const std::vector<int>& members = placement.nodes[node];
    for (size_t i = 0; i < members.size(); ++i) {
      const std::byte* from =
          node == scene.my_node ? send_of_[i] + scene.me * block + offset : parts_[node] + i * piece;
      std::memcpy(receive + members[i] * block + offset, from, piece);
    }
  }
}

absl::Status SpanningCollective::PostBarrier(const Scene& scene) {
  const Placement& placement = scene.group.placement;
  if (placement.place_of[scene.me] != 0) return absl::OkStatus();
  const int tag = TagOf(scene.operation, scene.operation.slot);
  for (const std::vector<int>& members : placement.nodes) {
    if (members[0] == scene.me) continue;
    PDC_RETURN_IF_ERROR(exchange.Receive(scene.group.comm, nullptr, 0, members[0], tag));
    PDC_RETURN_IF_ERROR(exchange.Send(scene.group.comm, nullptr, 0, members[0], tag));
  }
  return absl::OkStatus();
}

}  // namespace pdc::comm
