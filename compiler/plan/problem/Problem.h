//===- Problem.h - what a search for a plan decides, in numbers -*- C++ -*-===//
//
// A plan is found on a graph of decisions. A node is one decision: the layout of a value, the split of an op.
// Each of its choices has a time and takes memory; so has each pair of choices of two nodes that an edge joins
// (resharding). The best plan has the least sum of times of all whose sum of memory is within the limit. This
// is a cost function network (weighted constraint network) with one knapsack constraint.
//
// Numbers and small structs, no IR: solvers can be tested with ten-line problems, and an outside solver can be
// put beside them.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_PROBLEM_H
#define PDC_COMPILER_PLAN_PROBLEM_PROBLEM_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace pdc::plan {

/// The time of what cannot be.
inline constexpr double forbidden = std::numeric_limits<double>::infinity();

/// What the choices of a node cost. As many entries as choices.
struct UnaryTable {
  std::vector<double> seconds; // at least 0; `forbidden` where the choice cannot be taken
  std::vector<int64_t> bytes;  // at least 0, memory on one rank; empty: none takes memory
};

/// What pairs of choices of two nodes cost, row by row: entry [row * columns + column].
struct PairTable {
  uint32_t rows = 0;           // choices of the first node of the edge
  uint32_t columns = 0;        // choices of the second one
  std::vector<double> seconds; // rows * columns entries
  std::vector<int64_t> bytes;  // rows * columns entries, or empty: none takes memory

  double secondsAt(uint32_t row, uint32_t column) const { return seconds[size_t{row} * columns + column]; }
  int64_t bytesAt(uint32_t row, uint32_t column) const {
    return bytes.empty() ? 0 : bytes[size_t{row} * columns + column];
  }
};

/// One decision.
struct Node {
  uint32_t unaryTable = 0;             // index into Problem::unaryTables
  std::optional<uint32_t> fixedChoice; // somebody has decided
  std::vector<uint32_t> bannedChoices; // not to be taken, whatever they cost
};

/// A cost that depends on two decisions. Several edges between two nodes add up.
struct Edge {
  uint32_t first = 0;     // node; rows of the table
  uint32_t second = 0;    // node; columns of the table; not `first`
  uint32_t pairTable = 0; // index into Problem::pairTables
};

/// Tables lie in pools, and nodes and edges refer to them: identical layers share tables, so that what is
/// computed for one is computed for all. Nodes are numbered in the order of the program, so that the nodes of
/// two identical layers lie in the same order: that is how sameness is seen.
struct Problem {
  std::vector<UnaryTable> unaryTables;
  std::vector<PairTable> pairTables;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  double fixedSeconds = 0;                 // of every plan
  int64_t fixedBytes = 0;                  // of every plan, on one rank
  std::optional<int64_t> memoryLimitBytes; // for fixedBytes and the choices together

  uint32_t numChoices(uint32_t node) const {
    return static_cast<uint32_t>(unaryTables[nodes[node].unaryTable].seconds.size());
  }
};

/// What is wrong with the problem: what was expected, what was found, where. Empty if nothing is.
std::string checkProblem(const Problem &problem);

/// What a choice for every node costs.
struct PlanCost {
  double seconds = 0; // `forbidden` if a choice or a pair of choices is
  int64_t bytes = 0;
};

/// Adds up what the choices cost, in the order of nodes and then edges, so that equal choices have equal bits.
PlanCost evaluate(const Problem &problem, const std::vector<uint32_t> &choices);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_PROBLEM_H
