//===- PiperSearch.h - the best plan over given cuts ------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLACE_PIPERSEARCH_H
#define PDC_COMPILER_PLACE_PIPERSEARCH_H

#include "compiler/place/PiperStage.h"

namespace pdc::place {

/// What lies between two cuts.
struct PlannedPiperStage {
  int from = 0, to = 0;
  int tensor = 0, data = 1; // the number of the tensor degree; the data-parallel degree
  int samplesInFlight = 1;
};

struct PiperPlan {
  std::vector<PlannedPiperStage> stages;
  double bottleneckSeconds = 0;
  /// No plan over the cuts is faster; the bottleneck itself unless the search was given up.
  double lowerBoundSeconds = 0;
};

/// The fastest plan over these cuts, or the best one that is found with an effort of 1, some second; nothing if none
/// fits into memory. `bound`: a bottleneck that a plan over these cuts is known to have; with it, nothing also if the
/// effort does not find that plan again.
std::optional<PiperPlan> findPiperPlan(const PiperCosts &costs, const Downsets &sets,
                                       std::optional<double> bound, double effort);

} // namespace pdc::place

#endif // PDC_COMPILER_PLACE_PIPERSEARCH_H
