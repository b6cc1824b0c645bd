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

/// The time of one stage by the number of samples in flight on a device.
class PiperStage {
public:
  /// `nodes`: those of the stage; `inside`: the same as bits. All must have configurations for the tensor degree.
  PiperStage(const PiperGraph &graph, const PiperModel &model, const std::vector<int> &nodes, const Bits &inside,
             PiperDegrees degrees);

  /// Infinity where it does not fit into memory.
  double seconds(int samplesInFlight) const;
  /// The configuration of each node then.
  std::vector<int> chosen(int samplesInFlight) const;

  /// What a configuration takes at least, wherever the stage's boundary is.
  static double interiorSeconds(const PiperConfiguration &configuration, const PiperModel &model, int data);

private:
  struct Option {
    double seconds, bytesPerSample, fixedBytes;
    double bytes(int samples) const { return bytesPerSample * samples + fixedBytes; }
  };
  std::vector<int> shave(std::vector<int> choice, double excessBytes, int samples) const;

  std::vector<std::vector<Option>> options; // of each node
  std::vector<int> fastest;
  double memoryBytes;
};

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPERSTAGE_H
