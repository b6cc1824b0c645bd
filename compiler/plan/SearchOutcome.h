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

/// What a planned step takes as a finished program.
struct StepPrediction {
  double seconds = 0;
  int64_t arenaBytes = 0; // of the rank that needs most
};

/// One of the best plans of a search that were lowered and simulated, to choose among them.
struct SimulatedPlan {
  std::string name;   // "mesh data=2 tensor=2", or the preset that it is the best of: "zero3"
  double costSeconds; // by the costs that the search minimizes
  StepPrediction predicted;
  bool isChosen = false;
};

/// What a search did, for the report.
struct SearchOutcome {
  ParallelSpec parallel; // as found: how many ways the batch is split, and what is left
  std::vector<std::string> meshAxes;
  std::vector<int64_t> meshSizes;
  double seconds = 0;     // that the search took
  double stepSeconds = 0;  // of the plan, by the costs that the search minimizes
  double leastSeconds = 0; // of the plan that costs least; another one than the plan if simulations preferred that
  double computeSeconds = 0;   // the part of it that is no communication
  int64_t bytes = 0;           // of one rank, as the search counts them
  double lowerBoundSeconds = 0;
  double plansConsidered = 0;
  double gap = 0; // (least cost - lower bound) / least cost
  std::string solver;
  std::vector<Decision> decisions;
  int64_t microBatches = 1;       // as found
  std::string schedule = "none";
  std::vector<SimulatedPlan> simulated; // by cost; empty where the least cost decided
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCHOUTCOME_H
