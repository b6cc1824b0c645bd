//===- RandomProblems.h - problems for tests of searches --------*- C++ -*-===//
#ifndef PDC_TESTS_COMPILER_PLAN_PROBLEM_RANDOMPROBLEMS_H
#define PDC_TESTS_COMPILER_PLAN_PROBLEM_RANDOMPROBLEMS_H

#include "compiler/plan/problem/Problem.h"
#include <random>

namespace pdc::plan::testing {

/// Random tables; the same on every machine.
class ProblemMaker {
public:
  explicit ProblemMaker(unsigned seed) : random(seed) {}

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random() % n); }
  double seconds() { return static_cast<double>(random() % 100000) * 1e-6; }

  uint32_t addUnary(uint32_t choices, bool hasForbidden, bool hasBytes) {
    UnaryTable table;
    for (uint32_t i = 0; i < choices; ++i) {
      table.seconds.push_back(hasForbidden && below(8) == 0 ? forbidden : seconds());
      if (hasBytes)
        table.bytes.push_back(below(1000));
    }
    problem.unaryTables.push_back(table);
    return static_cast<uint32_t>(problem.unaryTables.size() - 1);
  }

  uint32_t addPair(uint32_t rows, uint32_t columns, bool hasForbidden, bool hasBytes) {
    PairTable table{rows, columns, {}, {}};
    for (uint32_t i = 0; i < rows * columns; ++i) {
      table.seconds.push_back(hasForbidden && below(8) == 0 ? forbidden : seconds());
      if (hasBytes)
        table.bytes.push_back(below(300));
    }
    problem.pairTables.push_back(table);
    return static_cast<uint32_t>(problem.pairTables.size() - 1);
  }

  uint32_t addNode(uint32_t unary) {
    problem.nodes.push_back({unary, std::nullopt, {}});
    return static_cast<uint32_t>(problem.nodes.size() - 1);
  }

  void addEdge(uint32_t first, uint32_t second, bool hasForbidden = false, bool hasBytes = false) {
    uint32_t table = addPair(problem.numChoices(first), problem.numChoices(second), hasForbidden, hasBytes);
    problem.edges.push_back({first, second, table});
  }

  Problem problem;

private:
  std::mt19937 random;
};

/// Up to `maxNodes` nodes with up to `maxChoices` choices and random edges; some choices are fixed, banned or
/// forbidden, some tables have no memory.
inline Problem randomProblem(unsigned seed, uint32_t maxNodes = 7, uint32_t maxChoices = 4) {
  ProblemMaker maker(seed);
  bool hasForbidden = maker.below(3) == 0, hasBytes = maker.below(4) != 0;
  uint32_t nodes = 1 + maker.below(maxNodes);
  for (uint32_t i = 0; i < nodes; ++i) {
    uint32_t unary = i > 0 && maker.below(4) == 0
                         ? maker.problem.nodes[maker.below(i)].unaryTable
                         : maker.addUnary(1 + maker.below(maxChoices), hasForbidden, hasBytes);
    Node &node = maker.problem.nodes[maker.addNode(unary)];
    uint32_t choices = maker.problem.numChoices(i);
    if (maker.below(8) == 0)
      node.fixedChoice = maker.below(choices);
    else if (maker.below(6) == 0)
      node.bannedChoices.push_back(maker.below(choices));
  }
  for (uint32_t i = 0, edges = nodes < 2 ? 0 : maker.below(2 * nodes); i < edges; ++i) {
    uint32_t first = maker.below(nodes), second = maker.below(nodes);
    if (first != second)
      maker.addEdge(first, second, hasForbidden, hasBytes && maker.below(2) == 0);
  }
  maker.problem.fixedBytes = maker.below(3) * 100;
  maker.problem.fixedSeconds = maker.below(2) * 0.125;
  return maker.problem;
}

} // namespace pdc::plan::testing

#endif // PDC_TESTS_COMPILER_PLAN_PROBLEM_RANDOMPROBLEMS_H
