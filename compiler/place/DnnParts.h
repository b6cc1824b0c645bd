//===- DnnParts.h - what dnn-partitioning cuts between ----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_DNNPARTS_H
#define PDC_COMPILER_PLACE_DNNPARTS_H

#include "compiler/place/DnnPartitioningGraph.h"
#include "compiler/place/FreeNodes.h"

namespace pdc::place {

/// Nodes that stay on one device.
struct DnnPart {
  std::vector<int> nodes; // of the graph, in its order
  double cpuSeconds = 0, acceleratorSeconds = 0, bytes = 0;
  int unsupported = 0; // nodes that no accelerator runs
};

/// A node of the graph whose output may have to be sent.
struct DnnOutput {
  int part = 0;
  std::vector<int> readers; // other parts, in increasing order
  double seconds = 0;
};

struct DnnParts {
  std::vector<DnnPart> parts;
  Dag dag{0}; // of parts: what forward edges demand
  std::vector<DnnOutput> outputs;
};

/// Colour classes, and classes that depend on each other in the forward graph, as one part each; parts that take no time
/// and talk to one other part only, as a part of that one, if they have no size or all nodes fit into
/// `acceleratorBytes` together.
DnnParts gatherDnnParts(const DnnGraph &graph, double acceleratorBytes);

/// Per part, whether it costs nothing on whatever device.
std::vector<char> findFreeParts(const DnnParts &parts);

/// The parts that are left, as `thinned` numbers them, and what they send each other.
DnnParts keepParts(const DnnParts &parts, const ThinnedDag &thinned);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_DNNPARTS_H
