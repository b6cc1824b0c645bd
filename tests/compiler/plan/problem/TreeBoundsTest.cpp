//===- TreeBoundsTest.cpp - bounds by messages along trees ----------------===//

#include "compiler/plan/problem/TreeBounds.h"
#include "RandomProblems.h"
#include "compiler/plan/problem/BruteForce.h"
#include "compiler/plan/problem/PricedSearch.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pdc::plan;
using namespace pdc::plan::testing;

namespace {
/// A random problem as a network, and its best plan; nothing where no plan is possible.
struct Case {
  Problem problem;
  Domains domains;
  Solution best;
  CostNetwork network;
};

std::optional<Case> randomCase(unsigned seed) {
  Case made{randomProblem(seed), {}, {}, {}};
  made.domains = allowedChoices(made.problem);
  made.best = solveByBruteForce(made.problem);
  if (made.best.status != SolutionStatus::found)
    return std::nullopt;
  made.network = buildNetwork(made.problem, made.domains, {}, made.best.seconds);
  return made;
}

double secondsOf(const Case &made, double quanta) {
  return quanta * made.network.quantum - made.network.roundingCost + made.problem.fixedSeconds;
}
} // namespace

TEST(TreeBounds, AreNeverAboveTheBestPlanAndDoNotFall) {
  unsigned tight = 0, cases = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::optional<Case> made = randomCase(seed);
    if (!made)
      continue;
    TreeBounds bounds(made->network);
    double before = 0;
    for (int sweep = 0; sweep < 50; ++sweep) {
      double bound = secondsOf(*made, bounds.sweep());
      EXPECT_LE(bound, made->best.seconds * (1 + 1e-12)) << "seed " << seed;
      EXPECT_GE(bound, before * (1 - 1e-12)) << "seed " << seed;
      before = bound;
    }
    ++cases;
    tight += before >= made->best.seconds * (1 - 1e-6);
  }
  EXPECT_GT(cases, 150u);
  EXPECT_GT(tight, cases / 4) << "the relaxation of many small problems has no gap";
}

TEST(TreeBounds, NoPlanWithAChoiceIsBelowWhatIsSaidOfIt) {
  unsigned raised = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::optional<Case> made = randomCase(seed);
    if (!made)
      continue;
    TreeBounds bounds(made->network);
    double bound = 0;
    for (int sweep = 0; sweep < 20; ++sweep)
      bound = bounds.sweep();
    for (uint32_t variable = 0; variable < made->network.extents.size(); ++variable) {
      uint32_t node = made->network.nodeOf[variable];
      std::vector<double> extra = bounds.aboveBound(variable);
      for (size_t i = 0; i < extra.size(); ++i) {
        Problem with = made->problem;
        with.nodes[node].fixedChoice = made->domains[node][i];
        Solution best = solveByBruteForce(with);
        raised += extra[i] > 0;
        EXPECT_LE(secondsOf(*made, bound + extra[i] * (1 - TreeBounds::slack)),
                  best.status == SolutionStatus::found ? best.seconds * (1 + 1e-12) : forbidden)
            << "seed " << seed << ", node " << node << ", choice " << i;
      }
    }
  }
  EXPECT_GT(raised, 100u);
}

TEST(TreeBounds, PlansReadOffTheMessagesArePlans) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::optional<Case> made = randomCase(seed);
    if (!made)
      continue;
    TreeBounds bounds(made->network);
    bounds.sweep();
    std::vector<uint32_t> choices = choicesOfNodes(made->network, made->domains, bounds.decode());
    EXPECT_GE(evaluate(made->problem, choices).seconds, made->best.seconds * (1 - 1e-12)) << "seed " << seed;
  }
}
