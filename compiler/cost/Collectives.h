//===- Collectives.h - the time of communication ----------------*- C++ -*-===//
//
// Latency and bandwidth (alpha-beta) of the algorithms that libraries have, the best of which counts. For one level
// with n members, m bytes, latency a and b seconds a byte:
//
//     reduce_scatter, all_gather   ring               (n - 1) a + (n - 1)/n m b
//                                  recursive halving  log2(n) a + (n - 1)/n m b           n a power of two
//                                  shared memory      a + (n - 1)/n m b
//     all_reduce                   both of them, or
//                                  recursive doubling log2(n) (a + m b)
//     all_to_all                   pairwise           (n - 1) a + (n - 1)/n m b
//                                  Bruck              log2(n) (a + m/2 b)
//     broadcast                    binomial tree      log2(n) (a + m b)
//                                  scatter, gather    (log2(n) + n - 1) a + 2 (n - 1)/n m b
//
// (Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations in MPICH"; rings as
// bandwidth-optimal over trees of switches: Patarasuk, Yuan 2009.) Over several levels either one flat ring, whose
// every step takes as long as its slowest link, or level by level: an all_reduce is reduce_scatter from the
// innermost level outwards on ever smaller parts, then all_gather back (Cho et al. 2019, "BlueConnect"), as NCCL
// and MPI do between and in nodes.
//
// b is what is left of a level's bandwidth: links that belong to a member are shared by the group's flows through
// it and by all groups that leave the same member at once, a bus by all that is on it; half duplex halves what
// a rank that sends and receives has; staging adds two host-link latencies and is no faster than the host link.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_COST_COLLECTIVES_H
#define PDC_COMPILER_COST_COLLECTIVES_H

#include "compiler/cost/GroupShape.h"
#include "compiler/machine/Cluster.h"
#include <optional>
#include <string>
#include <vector>

namespace pdc::cost {

enum class Collective { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, PointToPoint };
inline constexpr int kCollectiveCount = 6;
/// As programs and cluster files spell it: "all_reduce", ...
const char *toString(Collective collective);
std::optional<Collective> parseCollective(const std::string &text);

/// The links of a cluster, ready to be asked often.
class LinkCosts {
public:
  explicit LinkCosts(const machine::Cluster &cluster);

  /// The seconds of a collective over a group of this shape. `bytes` is, of each rank:
  ///   all_reduce, broadcast, point_to_point   the operand, as large as the result
  ///   all_gather                              the result
  ///   reduce_scatter                          the operand
  ///   all_to_all                              the operand, as large as the result
  /// A measured time is taken where the cluster file has one for this shape; where it has one for the same
  /// members but other neighbours, it is scaled by what the formulas say of the difference.
  double seconds(Collective collective, double bytes, const GroupShape &shape) const;

  /// By the formulas alone.
  double analyticSeconds(Collective collective, double bytes, const GroupShape &shape) const;

private:
  struct Level {
    double latencySeconds;
    double bytesPerSecond;
    machine::Sharing sharing;
    bool fullDuplex, isSharedMemory;
  };
  /// One level of a collective: how many take part, the latency and the seconds a byte that a rank sees.
  struct Step {
    double members, latency, secondsPerByte;
    bool isSharedMemory;
  };
  Step step(size_t level, const GroupShape &shape, double flows, bool bothDirections) const;
  double flatRing(Collective collective, double bytes, const GroupShape &shape) const;
  double byLevel(Collective collective, double bytes, const GroupShape &shape) const;
  double allToAll(double bytes, const GroupShape &shape) const;
  double measuredSeconds(const machine::MeasuredCollective &measured, double bytes) const;

  std::vector<Level> levels;
  std::vector<machine::MeasuredCollective> measured;
};

/// LinkCosts(cluster).seconds(...), for single questions.
double collectiveSeconds(const machine::Cluster &cluster, Collective collective, double bytes,
                         const GroupShape &shape);

/// One message between two ranks while nothing else is on the links.
double p2pSeconds(const machine::Cluster &cluster, double bytes, int64_t from, int64_t to);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_COLLECTIVES_H
