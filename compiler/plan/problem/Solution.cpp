//===- Solution.cpp - what a search for a plan answers --------------------===//

#include "compiler/plan/problem/Solution.h"
#include <algorithm>
#include <cmath>
#include <sstream>

using namespace pdc::plan;

double Solution::gap() const {
  if (proof == Proof::exact || seconds <= lowerBoundSeconds || seconds == 0)
    return 0;
  return (seconds - lowerBoundSeconds) / seconds;
}

int64_t Solution::excessBytes(const Problem &problem) const {
  if (!problem.memoryLimitBytes || status == SolutionStatus::impossible)
    return 0;
  return std::max<int64_t>(0, bytes - *problem.memoryLimitBytes);
}

static std::string verifyChoices(const Problem &problem, const Solution &solution) {
  if (solution.choices.size() != problem.nodes.size())
    return "the solution has " + std::to_string(solution.choices.size()) + " choices for " +
           std::to_string(problem.nodes.size()) + " nodes";
  for (uint32_t i = 0; i < problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    uint32_t choice = solution.choices[i];
    std::string name = "node " + std::to_string(i) + " takes choice " + std::to_string(choice);
    if (choice >= problem.numChoices(i))
      return name + " of " + std::to_string(problem.numChoices(i));
    if (node.fixedChoice && choice != *node.fixedChoice)
      return name + ", but is fixed to " + std::to_string(*node.fixedChoice);
    if (std::count(node.bannedChoices.begin(), node.bannedChoices.end(), choice))
      return name + ", which is banned";
  }
  return "";
}

/// Numbers in a message need all their digits.
static std::string digits(double number) {
  std::ostringstream text;
  text.precision(17);
  text << number;
  return text.str();
}

std::string pdc::plan::verifySolution(const Problem &problem, const Solution &solution) {
  if (solution.status == SolutionStatus::impossible)
    return solution.choices.empty() ? "" : "the solution of an impossible problem has choices";
  if (std::string error = verifyChoices(problem, solution); !error.empty())
    return error;
  PlanCost cost = evaluate(problem, solution.choices);
  if (std::isinf(cost.seconds))
    return "a choice or a pair of choices of the solution is forbidden";
  if (cost.seconds != solution.seconds)
    return "the choices take " + digits(cost.seconds) + " s; the solution says " + digits(solution.seconds);
  if (cost.bytes != solution.bytes)
    return "the choices take " + std::to_string(cost.bytes) + " bytes; the solution says " +
           std::to_string(solution.bytes);
  bool fits = !problem.memoryLimitBytes || cost.bytes <= *problem.memoryLimitBytes;
  if (fits != (solution.status == SolutionStatus::found))
    return "the choices take " + std::to_string(cost.bytes) + " bytes of " +
           std::to_string(problem.memoryLimitBytes.value_or(0)) + ", but the solution says that they " +
           (fits ? "do not fit" : "fit");
  // What over-memory plans cost bounds nothing.
  if (fits && solution.lowerBoundSeconds > cost.seconds)
    return "the lower bound of " + digits(solution.lowerBoundSeconds) + " s is above the solution's " +
           digits(cost.seconds) + " s";
  return "";
}
