//===- PipeDreamSearch.h - the best plan over given cuts --------*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_PIPEDREAMSEARCH_H
#define PDC_COMPILER_PLACE_PIPEDREAMSEARCH_H

#include "compiler/place/PipeDreamCuts.h"

namespace pdc::place {

struct PipeDreamModel {
  int devices = 1;
  double bytesPerSecond = 1e9;
  std::optional<double> memoryBytes; // of a device
  bool fewerDevices = false;         // a plan may use fewer than all devices
};

/// What lies between two cuts, on so many devices; from -1: the beginning.
struct PipeDreamStage {
  int from = -1, to = 0, replicas = 1;
};

struct PipeDreamPlan {
  std::vector<PipeDreamStage> stages;
  double bottleneckSeconds = 0;
  /// No plan over the cuts is faster; the bottleneck itself unless the search was given up.
  double lowerBoundSeconds = 0;
};

double stageSeconds(const PipeDreamCuts &cuts, const PipeDreamModel &model, PipeDreamStage stage);
/// The slower of its input's and its output's transfer; the first stage's output is its successor's input.
double stageTransferSeconds(const PipeDreamCuts &cuts, const PipeDreamModel &model, PipeDreamStage stage);

/// A plan whose bottleneck no plan over these cuts undercuts by more than 1e-10 of it, or the best one that is found
/// with an effort of 1, some second; nothing if none fits into memory. `bound`: a bottleneck that is known to be reached
/// over these cuts; with it, nothing also if the effort does not find that plan again.
std::optional<PipeDreamPlan> findPipeDreamPlan(const PipeDreamCuts &cuts, const PipeDreamModel &model,
                                               std::optional<double> bound, double effort);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPEDREAMSEARCH_H
