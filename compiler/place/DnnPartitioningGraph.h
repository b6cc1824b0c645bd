//===- DnnPartitioningGraph.h - graphs of dnn-partitioning ------*- C++ -*-===//
//
// JSON of msr-fiddle/dnn-partitioning ("Efficient Algorithms for Device Placement of DNN Graph Operators",
// NeurIPS 2020): nodes with latencies on a CPU and on an accelerator, edges with the time that the output of
// their source takes between an accelerator and host memory. Times are milliseconds, sizes bytes.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLACE_DNNPARTITIONINGGRAPH_H
#define PDC_COMPILER_PLACE_DNNPARTITIONINGGRAPH_H

#include "compiler/place/Dag.h"
#include "compiler/place/Placement.h"

namespace pdc::place {

struct DnnNode {
  int64_t id = 0;
  double cpuSeconds = 0, acceleratorSeconds = 0, bytes = 0;
  double outputSeconds = 0; // to bring its output to host memory, or from there
  bool onAccelerator = true;
  bool backward = false;
  int colorClass = 0; // nodes of one class stay together; classes are numbered from 0
};

struct DnnGraph {
  std::vector<DnnNode> nodes; // in the file's order
  Dag dag{0};
  int accelerators = 0, cpus = 0;
  double acceleratorBytes = 0;
};

/// Reads a graph; PlaceError names the node or edge that is wrong.
DnnGraph parseDnnPartitioningGraph(const std::string &text);

/// The smallest possible load of the most loaded device, over all ways to cut the forward graph into
/// contiguous parts, at most one a device; backward nodes stay with the forward nodes of their colour class.
///
///   accelerator: latencies of its nodes + the output of each node that has an edge into or out of its part;
///                the sizes of its nodes must fit, and all of them be supported
///   CPU:         latencies of its nodes
Placement placeDnnPartitioning(const DnnGraph &graph, const PlaceOptions &options);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_DNNPARTITIONINGGRAPH_H
