//===- SearchMethod.h - what --search names --------------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_SEARCHMETHOD_H
#define PDC_COMPILER_PLAN_SEARCH_SEARCHMETHOD_H

#include "compiler/plan/problem/FastestOf.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>
#include <string>

namespace pdc::plan {

/// How the best plan is looked for.
struct SearchMethod {
  std::string name; // as --search says it
  std::function<Solution(const Problem &)> solve;
  /// Of several problems under one memory limit the plan of the best one; without a limit likewise (FastestOf.h).
  std::function<void(std::vector<OpenProblem> &)> solveBestOf, solveFastestOf;
  std::optional<uint64_t>
      meshSeed; // takes one mesh at random, of up to three axes, instead of trying all of two
};

/// The search that --search names:
///
///   exact         elimination with a proof (Solver.h)
///   mcmc          Metropolis steps as FlexFlow does them; "mcmc:proposals=100000,seed=1"
///   ilp           CBC, an integer program; "ilp:seconds=60"
///   random        a random plan, for tests of partitioning: every value and op takes any choice; "random:seed=1"
llvm::Expected<SearchMethod> makeSearchMethod(llvm::StringRef spec);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_SEARCHMETHOD_H
