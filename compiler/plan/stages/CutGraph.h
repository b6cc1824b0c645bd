//===- CutGraph.h - the cuts of a step, and what crosses them ---*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_STAGES_CUTGRAPH_H
#define PDC_COMPILER_PLAN_STAGES_CUTGRAPH_H

#include "compiler/plan/stages/StepUnits.h"

namespace pdc::plan {

/// The cuts of a step, and what crosses where; the same for every setting.
class CutGraph {
public:
  explicit CutGraph(const StepUnits &units);

  const StepUnits &getUnits() const { return units; }
  const std::vector<std::vector<uint32_t>> &getLarger() const { return larger; }
  /// Parameters that several units compute with.
  const std::vector<size_t> &getTied() const { return tied; }
  bool contains(uint32_t cut, int unit) const { return units.getCuts().contains(static_cast<int>(cut), unit); }
  /// Messages that a stage between two cuts receives.
  struct Incoming {
    uint32_t message;
    bool fromNext; // from a later stage: a gradient
  };
  const std::vector<Incoming> &incoming(uint32_t from, uint32_t to) const;

private:
  const StepUnits &units;
  std::vector<std::vector<uint32_t>> larger;
  std::vector<size_t> tied;
  mutable std::vector<std::vector<std::optional<std::vector<Incoming>>>> known;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_STAGES_CUTGRAPH_H
