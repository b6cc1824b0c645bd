//===- Placement.h - what planning a profile graph gives --------*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_PLACEMENT_H
#define PDC_COMPILER_PLACE_PLACEMENT_H

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace pdc::place {

/// What is wrong with a graph or a request, in one line.
class PlaceError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// What every planner is told.
struct PlaceOptions {
  std::optional<int> devices;           // as the graph's file says if not given
  std::optional<double> bytesPerSecond; // of a device's link
  std::optional<double> memoryBytes;    // of a device
  bool fewerDevices = false;            // a plan may leave devices idle (PipeDream's model)
  size_t maxCuts = 400'000;             // graphs with more downsets are planned over some of them
  double effort = 1; // how far a search for a better plan goes before it is given up; 1: about a second
};

struct PlacedStage {
  std::vector<std::string> nodes; // ids as in the file, in its order
  int replicas = 1;
  double seconds = 0;         // of the stage for one mini-batch, replication counted
  double transferSeconds = 0; // PipeDream's model: the slower of its input's and its output's transfer
  std::string device;         // dnn-partitioning: accelerator or cpu
  int tensor = 0;             // Piper: devices of a replica; 0: the model knows no tensor parallelism
  std::vector<std::string> configurations; // Piper: of each node
};

struct Placement {
  double bottleneckSeconds = 0;
  std::vector<PlacedStage> stages;
  std::optional<double> dataParallelSeconds; // pure data parallelism under the same model
  double oneDeviceSeconds = 0;
  int devices = 0;
  size_t cuts = 0;              // downsets that the graph was cut at
  bool exact = true;            // no plan of the model is faster
  double lowerBoundSeconds = 0; // the bottleneck itself if exact
  bool integerIds = false;      // ids of nodes are integers in the file
};

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PLACEMENT_H
