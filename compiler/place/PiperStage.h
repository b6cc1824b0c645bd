//===- PiperStage.h - what a stage takes in Piper's model -------*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_PIPERSTAGE_H
#define PDC_COMPILER_PLACE_PIPERSTAGE_H

#include "compiler/place/Downsets.h"
#include "compiler/place/PiperGraph.h"

namespace pdc::place {

struct PiperModel {
  int devices = 1, samples = 1;
  double bytesPerSecond = 1, memoryBytes = 0;
};

/// Numbers of tensor and data parallelism.
struct PiperDegrees {
  int tensor = 1, data = 1;
};

/// A graph's numbers in flat tables: a search asks for the costs of very many stages.
class PiperCosts {
public:
  /// A way to run a node.
  struct Choice {
    double seconds, parameterBytes, bytesPerSample, fixedBytes;
  };
  /// An edge of a node, and what each of the node's choices sends over it.
  struct Link {
    int other;
    size_t firstBytes;
  };

  /// An edge, and which link of its ends it is.
  struct Edge {
    int from, to;
    size_t linkOfFrom, linkOfTo;
  };

  /// `nodes`: those of the graph that are planned; edges to others must cost nothing.
  PiperCosts(const PiperGraph &graph, const PiperModel &model, const std::vector<int> &nodes);

  int size() const { return count; }
  /// Numbers of devices that some node can run on, not more than the model's.
  const std::vector<int> &tensorDegrees() const { return degrees; }
  int tensorIndex(int degree) const;

  /// None where the node cannot run on so many devices.
  size_t choices(int tensor, int node) const { return at(tensor, node).choices; }
  const Choice *firstChoice(int tensor, int node) const {
    return allChoices.data() + at(tensor, node).firstChoice;
  }
  size_t links(int tensor, int node) const { return at(tensor, node).links; }
  const Link *firstLink(int tensor, int node) const { return allLinks.data() + at(tensor, node).firstLink; }
  const double *bytes(const Link &link) const { return allBytes.data() + link.firstBytes; }
  const std::vector<Edge> &edges() const { return allEdges; }

  const PiperModel &model;

private:
  struct Place {
    size_t firstChoice = 0, choices = 0, firstLink = 0, links = 0;
  };
  const Place &at(int tensor, int node) const { return places[static_cast<size_t>(tensor) * count + node]; }

  int count;
  std::vector<int> degrees;
  std::vector<Place> places; // by tensor degree and node
  std::vector<Choice> allChoices;
  std::vector<Link> allLinks;
  std::vector<Edge> allEdges;
  std::vector<double> allBytes;
};

/// The time of one stage by the number of samples in flight on a device.
class PiperStage {
public:
  PiperStage(const PiperCosts &costs, const Downsets &sets) : costs(costs), sets(sets) {}

  /// Makes it the stage of the nodes between two cuts; all must have a choice for the tensor degree, number `tensor`.
  void become(int from, int to, int tensor, int data);

  /// The least that it takes, however many samples are in flight.
  double fastestSeconds() const { return leastSeconds; }
  /// Infinity where it does not fit into memory.
  double seconds(int samplesInFlight) const;
  /// The choice of each node then, in increasing order of nodes; empty where it does not fit.
  std::vector<int> chosen(int samplesInFlight) const;

private:
  struct Option {
    double seconds, bytesPerSample, fixedBytes;
    double bytes(int samples) const { return bytesPerSample * samples + fixedBytes; }
  };
  size_t nodes() const { return firstOf.size() - 1; }
  size_t count(size_t node) const { return firstOf[node + 1] - firstOf[node]; }
  const Option &option(size_t node, int choice) const { return options[firstOf[node] + choice]; }
  std::vector<int> shave(std::vector<int> choice, double excessBytes, int samples) const;

  const PiperCosts &costs;
  const Downsets &sets;
  std::vector<Option> options; // of all nodes
  std::vector<size_t> firstOf; // of each node, and the end
  std::vector<int> fastest;
  double leastSeconds = 0;
};

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPERSTAGE_H
