// How a collective over several nodes divides its buffer: pure functions of who is where.
//
// A buffer is cut into slices. A slice has a home, the member that ends up with (or begins with) its value, and on
// every node a speaker, the one member that handles it there: reduces it over the node, sends it, receives it, and
// gives it to the others of the node. The speakers of a slice on all nodes are its rail. Where all nodes have m
// members there are m rails, of the members with the same place on their nodes:
//
//        node 0          node 1              all_reduce of 2 nodes with 2 members each, 4 slices:
//     ┌──────────┐    ┌──────────┐
//     │ member 0 │════│ member 2 │  rail 0     [ 0: home 0 | 1: home 1 | 2: home 2 | 3: home 3 ]
//     │ member 1 │════│ member 3 │  rail 1       rail 0      rail 1      rail 0      rail 1
//     └──────────┘    └──────────┘
//
// so that every link carries each byte of a slice once in each direction, whatever the number of members, and all
// members of a node share the work.
#ifndef PDC_RUNTIME_COMM_HIERARCHICAL_SLICES_H_
#define PDC_RUNTIME_COMM_HIERARCHICAL_SLICES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pdc::comm {

// Where the members of a group are. Members are indices in the group.
struct Placement {
  std::vector<std::vector<int>> nodes;  // the members of each node; nodes in the order of their first members
  std::vector<int> node_of;             // of each member
  std::vector<int> place_of;            // its index in nodes[node_of]

  int members() const { return static_cast<int>(node_of.size()); }
  // The member of a node that speaks for a rail.
  int Speaker(int node, int rail) const {
    return nodes[node][static_cast<size_t>(rail) % nodes[node].size()];
  }
};

// `nodes`: a number for the node of each member, of any kind.
Placement PlacementOf(const std::vector<int>& nodes);

struct Slice {
  size_t begin, bytes;
  int home;  // -1: its speaker on every node
  int rail;
};

// all_reduce in one exchange: a slice for each rail, at home everywhere.
void RailSlices(const Placement& placement, size_t bytes, std::vector<Slice>* slices);

// all_reduce, broadcast: as many slices of equal size for each node as the fullest node has members. Slices begin at
// multiples of a cache line.
void EvenSlices(const Placement& placement, size_t bytes, std::vector<Slice>* slices);

// reduce_scatter, all_gather: the slice of member i has counts[i] elements, and member i as its home.
void CountedSlices(const Placement& placement, const std::vector<int64_t>& counts, size_t element_bytes,
                   std::vector<Slice>* slices);

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_HIERARCHICAL_SLICES_H_
