//===- SearchLimits.h - what a search may take ------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_SEARCHLIMITS_H
#define PDC_COMPILER_PLAN_PROBLEM_SEARCHLIMITS_H

#include <cstdint>
#include <limits>

namespace pdc::plan {

/// Bounds on what an exact search may take before it gives a bound instead of a proof.
struct SearchLimits {
  double tableEntries = 64e6;    // entries of the largest set of tables held at a time (8 bytes each)
  double operations = 4e9;       // entries combined in one elimination of the whole graph
  uint64_t searchNodes = 200000; // partial plans that branch and bound tries where elimination is too wide
  double frontPoints = 1e7;      // (time, memory) points made in one elimination with fronts
  uint32_t frontSize = 256;      // points kept for one entry
  double smallGap = 0;           // under a memory limit: a gap that is worth no more time, as a share of the plan's time
  /// Plans that take as long are of no use. A search may end as soon as it knows that there are no others, with what it
  /// has found by then, also where nothing is known to fit.
  double usefulSeconds = std::numeric_limits<double>::infinity();
  bool onlyNarrow = false; // without a memory limit: where an exact search would be wide, a quick plan and no proof
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_SEARCHLIMITS_H
