//===- BestOf.cpp - the best plan of several problems ---------------------===//

#include "compiler/plan/problem/BestOf.h"
#include "compiler/plan/problem/Solver.h"
#include <algorithm>
#include <utility>

using namespace pdc::plan;

namespace {
class BestOf {
public:
  BestOf(std::vector<OpenProblem> &problems, SearchLimits limits) : limits(limits) {
    for (OpenProblem &problem : problems)
      searches.push_back({&problem, problem.solution});
    for (Search &search : searches) {
      Solution &solution = search.open->solution;
      bool isOver = solution.status != SolutionStatus::impossible && search.fastest.excessBytes(*search.open->problem) > 0;
      if (isOver)
        solution.status = SolutionStatus::overMemory;
      search.isSettled = !isOver;
      note(search);
    }
  }

  void run() {
    // The first one's price of memory is tried on the others.
    forEachUseful([&](Search &search) {
      Solution &solution = search.open->solution;
      solution = price > 0 ? solveAtPrice(*search.open->problem, search.fastest, price, limits)
                           : solveAtPrices(*search.open->problem, search.fastest, solution, limits);
      search.isPriced = price == 0;
      price = std::max(price, solution.secondsPerByte);
    });
    forEachUseful([&](Search &search) {
      Solution &solution = search.open->solution;
      if (!search.isPriced)
        solution = solveAtPrices(*search.open->problem, search.fastest, solution, limits);
      search.isPriced = true;
    });
    forEachUseful([&](Search &search) {
      search.open->solution = closeGap(*search.open->problem, search.open->solution, limits);
      search.isSettled = true;
    });
  }

private:
  struct Search {
    OpenProblem *open;
    Solution fastest;       // without the limit
    bool isPriced = false;  // by prices of its own
    bool isSettled = false; // nothing is left to find
  };

  /// In the order of their bounds, those that may be better than the best known plan.
  template <typename Step> void forEachUseful(Step step) {
    std::sort(searches.begin(), searches.end(), [](const Search &a, const Search &b) {
      return std::pair(a.open->solution.lowerBoundSeconds, a.open) < std::pair(b.open->solution.lowerBoundSeconds, b.open);
    });
    for (Search &search : searches) {
      if (search.isSettled || search.open->solution.lowerBoundSeconds >= limits.usefulSeconds)
        continue;
      step(search);
      search.isSettled |= search.isPriced && search.open->solution.status == SolutionStatus::overMemory;
      note(search);
    }
  }

  void note(const Search &search) {
    if (search.open->solution.status == SolutionStatus::found)
      limits.usefulSeconds = std::min(limits.usefulSeconds, search.open->solution.seconds);
  }

  SearchLimits limits; // of use is what is faster than the best known plan
  double price = 0;    // of memory
  std::vector<Search> searches;
};
} // namespace

void pdc::plan::solveBestOf(std::vector<OpenProblem> &problems, SearchLimits limits) {
  BestOf(problems, limits).run();
}
