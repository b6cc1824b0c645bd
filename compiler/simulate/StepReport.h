//===- StepReport.h - a simulated step, told --------------------*- C++ -*-===//
#ifndef PDC_COMPILER_SIMULATE_STEPREPORT_H
#define PDC_COMPILER_SIMULATE_STEPREPORT_H

#include "compiler/simulate/RankSimulation.h"

namespace pdc::simulate {

struct StepTitle {
  std::string model, mode, cluster;
  int64_t batch = 0;
};

/// Seconds; the keys are a contract (docs/executable.md).
std::string toJson(const RankSimulation &simulation, const StepTitle &title);
/// For a person: a line a rank.
std::string toTable(const RankSimulation &simulation, const StepTitle &title);

} // namespace pdc::simulate

#endif // PDC_COMPILER_SIMULATE_STEPREPORT_H
