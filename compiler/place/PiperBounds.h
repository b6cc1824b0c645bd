//===- PiperBounds.h - what stages take at least ----------------*- C++ -*-===//
//
// Differences of sums over the nodes of two cuts: what lies between them takes no less, however its nodes are run. Where
// all choices of a node differ in nothing but time and memory, which is the case in the published graphs, the sums say
// what the fastest choices take.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLACE_PIPERBOUNDS_H
#define PDC_COMPILER_PLACE_PIPERBOUNDS_H

#include "compiler/place/PiperStage.h"

namespace pdc::place {

class PiperBounds {
public:
  /// Differences of sums, and sums in another order, are off by less.
  static constexpr double kRounding = 1e-9;

  /// `mostSamples`: the most that are in flight.
  PiperBounds(const PiperCosts &costs, const Downsets &sets, int mostSamples);

  /// The nodes between two cuts, with one tensor degree.
  struct Stage {
    double seconds = 0;                        // compute and transfers of one replica
    double reduceSeconds = 0;                  // of infinitely many replicas
    double bytesPerSample = 0, fixedBytes = 0; // of the fastest choices

    double leastSeconds(int data) const { return (seconds - reduceSeconds) / data + reduceSeconds; }
    double fastestBytes(int samples) const { return bytesPerSample * samples + fixedBytes; }
    /// Fewer replicas take longer than `limit`; `most` + 1 if all do.
    int fewestReplicas(double limit, int most) const;
  };

  Stage stage(int from, int to, size_t tensor) const;
  /// Whether a stage's bounds are what its fastest choices take.
  bool areExact() const { return isExact; }
  /// Whether all nodes between two cuts can have a tensor degree.
  bool canRun(int from, int to, size_t tensor) const {
    return sums[from * tensors + tensor].unable == sums[to * tensors + tensor].unable;
  }
  /// No choices of the nodes between two cuts need less memory.
  double leastBytes(int from, int to, size_t tensor, int samples) const;
  /// Of a cut's nodes, each run with the fewest device seconds.
  double deviceSeconds(int set) const { return secondsOf[set]; }
  int nodes(int set) const { return nodesOf[set]; }

private:
  /// Sums over the nodes of a cut.
  struct Sums {
    double seconds = 0, parameterBytes = 0;    // the least
    double bytesPerSample = 0, fixedBytes = 0; // of the fastest choice
    double leastBytesPerSample = 0, leastFixedBytes = 0;
    double bytesIn = 0,
           bytesOut = 0; // over the cut: what the ends after it take, and the ends before it send
    int unable = 0;
  };
  /// An edge, and the bytes that its two ends have with each tensor degree.
  struct Edge {
    int from, to;
    std::vector<double> out, in;
  };

  void sumUpNodes();
  void sumUpEdges();
  void sumUpBytes();

  const PiperCosts &costs;
  const Downsets &sets;
  const size_t tensors;
  const int mostSamples;
  bool isExact = true;
  std::vector<Sums> sums;        // by cut and tensor degree
  std::vector<double> secondsOf; // by cut
  std::vector<int> nodesOf;      // by cut
  std::vector<Edge> edges;
  std::vector<std::vector<int>> crossing; // by cut, edges from within to beyond
  std::vector<double> bytesOf;            // by cut, tensor degree and samples in flight: the least; or none
};

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPERBOUNDS_H
