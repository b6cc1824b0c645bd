//===- PiperGraph.h - graphs of Piper ---------------------------*- C++ -*-===//
//
// JSON of msr-fiddle/piper ("Piper: Multidimensional Planner for DNN Parallelization", NeurIPS 2021): layers, each with
// ways to run it on 1, 2, ... devices by tensor parallelism ("TMPCs"), and edges with the bytes of a sample.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLACE_PIPERGRAPH_H
#define PDC_COMPILER_PLACE_PIPERGRAPH_H

#include "compiler/place/Dag.h"
#include "compiler/place/Placement.h"
#include <map>

namespace pdc::place {

/// One way to run a layer on so many devices, for one sample (a micro-batch) of forward and backward.
struct PiperConfiguration {
  std::string id;
  double seconds = 0;        // compute, and communication between its devices
  double parameterBytes = 0; // on each device
  /// Memory of a device: bytesPerSample for each sample in flight, and fixedBytes.
  double bytesPerSample = 0, fixedBytes = 0;
  std::map<int, double> bytesFrom, bytesTo; // besides those of the edges, by node: syncTimeFw, syncTimeBw
};

struct PiperNode {
  int64_t id = 0;
  std::map<int, std::vector<PiperConfiguration>> configurations; // by the number of devices
};

struct PiperEdge {
  int from = 0, to = 0;
  double bytes = 0;
};

struct PiperGraph {
  std::vector<PiperNode> nodes; // in the file's order
  std::vector<PiperEdge> edges;
  Dag dag{0};
  int devices = 0;
  int samples = 0; // micro-batches of a batch
  double bytesPerSecond = 0, memoryBytes = 0;
};

/// Reads a graph; PlaceError names the node or edge that is wrong.
PiperGraph parsePiperGraph(const std::string &text);

/// Piper's planner (section 4): contiguous stages, each with a degree d of data and t of tensor parallelism, of which d
/// divides the number N of micro-batches and t d devices are used; per layer a configuration for t devices. The slowest
/// stage is as fast as possible, where of a stage
///
///   time:   sum over its layers of  p / d  +  2 (c + sync) / (d B)  of edges that cross its boundary
///           +  4 (d - 1) w / (d N B)
///   memory: sum over its layers of  a ceil(s / d) + b,  s the sum of the d of this and later stages
///
/// Which layers take a configuration of less memory, where the fastest do not fit, is decided as by the published
/// planner: those that lose the least time for a byte (a knapsack; not always optimal).
Placement placePiper(const PiperGraph &graph, const PlaceOptions &options);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPERGRAPH_H
