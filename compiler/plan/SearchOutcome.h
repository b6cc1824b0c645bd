//===- SearchOutcome.h - what a search for a plan did -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCHOUTCOME_H
#define PDC_COMPILER_PLAN_SEARCHOUTCOME_H

#include "compiler/plan/ParallelSpec.h"
#include <string>
#include <vector>

namespace pdc::plan {

/// One choice of a plan, and what it would have cost to choose otherwise.
struct Decision {
  std::string what, chosen, runnerUp;
  double costDifferenceSeconds;
};

/// What a search did, for the report.
struct SearchOutcome {
  ParallelSpec parallel; // as found: how many ways the batch is split, and what is left
  std::vector<std::string> meshAxes;
  std::vector<int64_t> meshSizes;
  double seconds = 0;     // that the search took
  double stepSeconds = 0; // of the plan, by the costs that the search minimizes
  double computeSeconds = 0;   // the part of it that is no communication
  int64_t bytes = 0;           // of one rank, as the search counts them
  double lowerBoundSeconds = 0;
  double plansConsidered = 0;
  double gap = 0; // (plan - lower bound) / plan
  std::string solver;
  std::vector<Decision> decisions;
  int64_t microBatches = 1;       // as found
  std::string schedule = "none";
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCHOUTCOME_H
