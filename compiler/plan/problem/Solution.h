//===- Solution.h - what a search for a plan answers ------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_SOLUTION_H
#define PDC_COMPILER_PLAN_PROBLEM_SOLUTION_H

#include "compiler/plan/problem/Problem.h"

namespace pdc::plan {

enum class SolutionStatus {
  found,      // `choices` is a plan within the memory limit
  overMemory, // no plan is known within the limit; `choices` has the least memory that was found
  impossible, // every choice of some decision is forbidden or banned; `choices` is empty
};

/// How far `lowerBoundSeconds` is proved to be from the best plan.
enum class Proof {
  exact, // the whole space was searched: nothing is better (or nothing fits)
  bound, // nothing is better than the lower bound
  none,  // the search proves nothing (MCMC)
};

/// What the search did.
struct SolverStatistics {
  double plansConsidered = 0;        // size of the space, product of the numbers of choices; may be inf
  uint64_t choicesBeforePruning = 0; // sum over nodes
  uint64_t choicesAfterPruning = 0;  // without dominated ones
  uint64_t eliminations = 0;         // nodes eliminated, over all solves
  uint64_t tablesComputed = 0;       // eliminations whose table was computed
  uint64_t memoHits = 0;             // eliminations whose table was known from an identical one
  double tableEntries = 0;           // entries of all tables computed
  double operations = 0;             // entries combined to compute them
  uint32_t inducedWidth = 0;         // largest number of nodes of a table
  uint32_t solves = 0;               // exact searches, one for each price of memory
  uint64_t searchNodes = 0;          // partial plans tried by branch and bound, proposals of MCMC
};

struct Solution {
  SolutionStatus status = SolutionStatus::impossible;
  std::vector<uint32_t> choices; // one per node
  double seconds = forbidden;    // of the choices, as evaluate() adds them up
  int64_t bytes = 0;             // of the choices and the fixed ones
  double lowerBoundSeconds = 0;  // no plan within the limit takes less
  int64_t lowerBoundBytes = 0;   // overMemory: no plan takes less memory
  double secondsPerByte = 0; // what a byte more would save, under a memory limit that binds (price of memory)
  Proof proof = Proof::none;
  SolverStatistics statistics;

  /// (seconds - bound) / seconds; 0 where the proof is exact.
  double gap() const;
  /// How many bytes are missing; 0 if the plan fits.
  int64_t excessBytes(const Problem &problem) const;
};

/// What is wrong with a solution: a choice that is not there, banned or forbidden, a memory limit that is not
/// kept, sums that are not those of the choices, a bound above them. Empty if nothing is.
std::string verifySolution(const Problem &problem, const Solution &solution);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_SOLUTION_H
