//===- solver_bench.cpp - how long the search for a plan takes ------------===//
//
//   bazel-bin/tools/bench/solver/solver_bench [LAYERS STATES SPLITS]...
//
// prints a line for each problem: what it is, seconds of processor time, and what the search did.
//
//===----------------------------------------------------------------------===//

#include "compiler/plan/problem/Solver.h"
#include "tools/bench/solver/TransformerProblem.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>

using namespace pdc::plan;

static double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

static bool measure(const TransformerShape &shape, double memoryShare) {
  Problem problem = makeTransformerProblem(shape);
  if (std::string error = checkProblem(problem); !error.empty()) {
    std::fprintf(stderr, "the problem is wrong: %s\n", error.c_str());
    return false;
  }
  if (memoryShare > 0)
    problem.memoryLimitBytes = static_cast<int64_t>(memoryShare * static_cast<double>(solve(problem).bytes));
  double begin = processorSeconds();
  Solution solution = solve(problem);
  double seconds = processorSeconds() - begin;
  std::string error = verifySolution(problem, solution);
  if (!error.empty())
    std::fprintf(stderr, "the solution is wrong: %s\n", error.c_str());
  const SolverStatistics &did = solution.statistics;
  std::printf(
      "%3u layers, %2u layouts, %2u splits, memory %3.0f%%: %5zu nodes, %6.3f s, plan %.6f s, gap %.2e; %llu "
      "eliminations, %llu tables, width %u, %.2e operations, %llu of %llu choices, %u solves\n",
      shape.layers, shape.states * shape.states, shape.splits * shape.splits, 100 * memoryShare,
      problem.nodes.size(), seconds, solution.seconds, solution.gap(),
      static_cast<unsigned long long>(did.eliminations), static_cast<unsigned long long>(did.tablesComputed),
      did.inducedWidth, did.operations, static_cast<unsigned long long>(did.choicesAfterPruning),
      static_cast<unsigned long long>(did.choicesBeforePruning), did.solves);
  std::fflush(stdout);
  return error.empty();
}

int main(int argc, char **argv) {
  bool isRight = true;
  if (argc > 1) {
    for (int i = 1; i + 3 < argc; i += 4)
      isRight &=
          measure({static_cast<uint32_t>(std::atoi(argv[i])), static_cast<uint32_t>(std::atoi(argv[i + 1])),
                   static_cast<uint32_t>(std::atoi(argv[i + 2]))},
                  std::atof(argv[i + 3]));
    return isRight ? 0 : 1;
  }
  for (uint32_t layers : {24u, 96u})
    for (uint32_t states : {4u, 5u, 6u, 7u})
      isRight &= measure({layers, states, states}, 0);
  return isRight ? 0 : 1;
}
