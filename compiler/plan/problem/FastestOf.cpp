//===- FastestOf.cpp - the fastest plan of several problems ---------------===//

#include "compiler/plan/problem/FastestOf.h"
#include "compiler/plan/problem/Solver.h"
#include <algorithm>

using namespace pdc::plan;

void pdc::plan::solveFastestOf(std::vector<OpenProblem> &problems, SearchLimits limits) {
  auto search = [&](OpenProblem &open) {
    open.solution = solve(*open.problem, limits);
    if (open.solution.status == SolutionStatus::found)
      limits.usefulSeconds = std::min(limits.usefulSeconds, open.solution.seconds);
  };
  limits.onlyNarrow = problems.size() > 1;
  for (OpenProblem &open : problems)
    search(open);
  if (!limits.onlyNarrow)
    return;
  limits.onlyNarrow = false;
  std::vector<std::pair<double, size_t>> wide; // by known plan
  for (size_t i = 0; i < problems.size(); ++i)
    if (problems[i].solution.proof != Proof::exact)
      wide.emplace_back(problems[i].solution.seconds, i);
  std::sort(wide.begin(), wide.end());
  for (auto [seconds, index] : wide)
    search(problems[index]);
}
