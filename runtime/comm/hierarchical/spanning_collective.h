// One collective over a group whose members are on several nodes. Between the two meetings of the members of each
// node (intranode/node_transport.h), rails exchange slices (slices.h) in pieces:
//
//   reduce    the speaker of a slice on each node adds the contributions of its node, in the order of the group, and
//             sends the sum to the slice's home, which adds the sums in the order of nodes
//   gather    the home sends the slice to the speakers of the other nodes, which write it to all members of theirs
//
//   all_reduce        reduce, gather; or, where that moves no more bytes (two nodes) or hardly any (short buffers),
//                     the speakers send each other their nodes' sums, and every node adds them: one exchange
//   reduce_scatter    reduce
//   all_gather        gather
//   broadcast         the root's node sends each slice to its home (scatter), then gather: as van de Geijn's
//                     algorithm for long vectors (Barnett et al., "Interprocessor collective communication library",
//                     1994)
//   all_to_all        the speaker of a node for a destination joins the blocks of its node into one message
//
// With k nodes the link of a node carries 2 (k-1)/k of an all_reduce's buffer in each direction, however many members
// the node has; a flat exchange of n members carries that of 2 (n-1)/n of each member's buffer less what stays inside.
#ifndef PDC_RUNTIME_COMM_HIERARCHICAL_SPANNING_COLLECTIVE_H_
#define PDC_RUNTIME_COMM_HIERARCHICAL_SPANNING_COLLECTIVE_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/async_communicator.h"
#include "runtime/comm/hierarchical/slices.h"
#include "runtime/comm/intranode/node_transport.h"
#include "runtime/comm/mpi/mpi_exchange.h"

namespace pdc::comm {

class HierarchicalGroup final : public OrderedGroup {
 public:
  HierarchicalGroup(std::vector<int> ranks, int index, Placement placement_of_members,
                    std::unique_ptr<NodeGroup> members_of_this_node, MPI_Comm comm_of_members)
      : OrderedGroup(std::move(ranks), index),
        placement(std::move(placement_of_members)),
        node(std::move(members_of_this_node)),
        comm(comm_of_members) {}

  bool spans_nodes() const { return placement.nodes.size() > 1; }

  const Placement placement;
  const std::unique_ptr<NodeGroup> node;  // in the order of placement.nodes
  const MPI_Comm comm;                    // null unless it spans nodes; owned by the communicator
};

// Kept for an operation from its first step to its last; reused by later ones without allocating.
class SpanningCollective final : public TransportState {
 public:
  absl::StatusOr<Progress> Step(Operation& operation, HierarchicalGroup& group, NodeTransport& node);

  // The members of the group whose messages have not come.
  std::vector<int> PendingSources() const { return exchange.PendingSources(); }
  // The stage that members of the node are waited for, 0 while the wait is for other nodes.
  static uint64_t AwaitedStage(const Operation& operation);

  MpiExchange exchange;  // also of messages

 private:
  // One step, with the words that its parts share.
  struct Scene {
    Operation& operation;
    HierarchicalGroup& group;
    NodeTransport& node;
    int me;       // index in the group
    int my_node;  // index in placement.nodes
    const std::vector<int>& here() const { return group.placement.nodes[my_node]; }
    bool alone() const { return here().size() == 1; }
  };
  struct Piece {
    size_t begin, bytes;
  };

  // What rails do in a round; Operation::slot is the index in the list of the operation's kind.
  enum class Stage { kReduce, kScatter, kGather, kSwap, kMeet, kNone };

  Stage StageOf(const Operation& operation, int index) const;
  absl::Status Begin(const Scene& scene);
  absl::Status Arrive(const Scene& scene);
  absl::Status Post(const Scene& scene);
  void Complete(const Scene& scene);

  absl::Status PostReduce(const Scene& scene);
  void CompleteReduce(const Scene& scene);
  absl::Status PostScatter(const Scene& scene);
  absl::Status PostGather(const Scene& scene);
  void CompleteGather(const Scene& scene);
  absl::Status PostSwap(const Scene& scene);
  void CompleteSwap(const Scene& scene);
  absl::Status PostBarrier(const Scene& scene);

  Piece PieceOf(const Scene& scene, const Slice& slice) const;
  int SpeakerOn(const Scene& scene, const Slice& slice, int node) const;
  bool ISpeakFor(const Scene& scene, const Slice& slice) const {
    return SpeakerOn(scene, slice, scene.my_node) == scene.me;
  }
  // Whether this member ends up with, or begins with, the slice's value.
  bool IsHome(const Scene& scene, const Slice& slice) const {
    return slice.home == scene.me || (slice.home < 0 && ISpeakFor(scene, slice));
  }
  // The buffer of this node that holds slices before they are gathered: the root's of a broadcast, else this member's.
  std::byte* Source(const Scene& scene) const;
  std::byte* Scratch(size_t bytes);

  bool in_one_exchange_ = false;  // all_reduce
  std::vector<Slice> slices_;
  std::vector<std::byte*> data_of_;        // Operation::data of the members of this node
  std::vector<const std::byte*> send_of_;  // Operation::send
  size_t piece_bytes_ = 0;
  size_t longest_ = 0;  // of the slices, in bytes
  // Parts on their way in the current round.
  std::vector<std::byte> scratch_;
  size_t scratch_used_ = 0;
  std::vector<std::byte*>
      parts_;  // of PostReduce(): per slice of this home and node; of PostSwap(): per node
  std::vector<const void*> sources_;
  std::vector<void*> outputs_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_HIERARCHICAL_SPANNING_COLLECTIVE_H_
