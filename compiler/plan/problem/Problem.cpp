//===- Problem.cpp - what a search for a plan decides, in numbers ---------===//

#include "compiler/plan/problem/Problem.h"
#include <algorithm>
#include <cmath>

using namespace pdc::plan;

/// What is wrong with one table's numbers.
static std::string checkEntries(const std::vector<double> &seconds, const std::vector<int64_t> &bytes) {
  if (!bytes.empty() && bytes.size() != seconds.size())
    return "has " + std::to_string(bytes.size()) + " sizes of memory for " + std::to_string(seconds.size()) +
           " times; expected as many, or none";
  for (size_t i = 0; i < seconds.size(); ++i)
    if (!(seconds[i] >= 0)) // not a number is not, either
      return "has a time of " + std::to_string(seconds[i]) + " s at entry " + std::to_string(i) +
             "; expected at least 0, or infinity for what is forbidden";
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] < 0)
      return "takes " + std::to_string(bytes[i]) + " bytes at entry " + std::to_string(i) +
             "; expected at least 0";
  return "";
}

static std::string checkTables(const Problem &problem) {
  for (size_t i = 0; i < problem.unaryTables.size(); ++i) {
    const UnaryTable &table = problem.unaryTables[i];
    std::string name = "unary table " + std::to_string(i) + " ";
    if (table.seconds.empty())
      return name + "has no choices; expected at least one";
    if (std::string error = checkEntries(table.seconds, table.bytes); !error.empty())
      return name + error;
  }
  for (size_t i = 0; i < problem.pairTables.size(); ++i) {
    const PairTable &table = problem.pairTables[i];
    std::string name = "pair table " + std::to_string(i) + " ";
    if (table.seconds.size() != size_t{table.rows} * table.columns)
      return name + "has " + std::to_string(table.seconds.size()) + " entries; expected " +
             std::to_string(table.rows) + " x " + std::to_string(table.columns);
    if (std::string error = checkEntries(table.seconds, table.bytes); !error.empty())
      return name + error;
  }
  return "";
}

static std::string checkNodes(const Problem &problem) {
  for (uint32_t i = 0; i < problem.nodes.size(); ++i) {
    const Node &node = problem.nodes[i];
    std::string name = "node " + std::to_string(i) + " ";
    if (node.unaryTable >= problem.unaryTables.size())
      return name + "uses unary table " + std::to_string(node.unaryTable) + " of " +
             std::to_string(problem.unaryTables.size());
    uint32_t choices = problem.numChoices(i);
    if (node.fixedChoice && *node.fixedChoice >= choices)
      return name + "is fixed to choice " + std::to_string(*node.fixedChoice) + " of " +
             std::to_string(choices);
    for (uint32_t banned : node.bannedChoices) {
      if (banned >= choices)
        return name + "bans choice " + std::to_string(banned) + " of " + std::to_string(choices);
      if (banned == node.fixedChoice)
        return name + "is fixed to choice " + std::to_string(banned) + ", which it bans";
    }
  }
  return "";
}

static std::string checkEdges(const Problem &problem) {
  for (size_t i = 0; i < problem.edges.size(); ++i) {
    const Edge &edge = problem.edges[i];
    std::string name = "edge " + std::to_string(i) + " ";
    for (uint32_t node : {edge.first, edge.second})
      if (node >= problem.nodes.size())
        return name + "ends at node " + std::to_string(node) + " of " + std::to_string(problem.nodes.size());
    if (edge.first == edge.second)
      return name + "joins node " + std::to_string(edge.first) + " with itself; expected two nodes";
    if (edge.pairTable >= problem.pairTables.size())
      return name + "uses pair table " + std::to_string(edge.pairTable) + " of " +
             std::to_string(problem.pairTables.size());
    const PairTable &table = problem.pairTables[edge.pairTable];
    uint32_t rows = problem.numChoices(edge.first), columns = problem.numChoices(edge.second);
    if (table.rows != rows || table.columns != columns)
      return name + "joins nodes with " + std::to_string(rows) + " and " + std::to_string(columns) +
             " choices by a table of " + std::to_string(table.rows) + " x " + std::to_string(table.columns);
  }
  return "";
}

/// Sums of memory stay far from the end of the numbers.
static std::string checkTotalBytes(const Problem &problem) {
  auto largest = [](const std::vector<int64_t> &bytes) {
    return bytes.empty() ? 0.0 : static_cast<double>(*std::max_element(bytes.begin(), bytes.end()));
  };
  std::vector<double> ofUnary, ofPair;
  for (const UnaryTable &table : problem.unaryTables)
    ofUnary.push_back(largest(table.bytes));
  for (const PairTable &table : problem.pairTables)
    ofPair.push_back(largest(table.bytes));
  auto most = static_cast<double>(problem.fixedBytes);
  for (const Node &node : problem.nodes)
    most += ofUnary[node.unaryTable];
  for (const Edge &edge : problem.edges)
    most += ofPair[edge.pairTable];
  if (most > 4e18)
    return "the memory of all decisions together does not fit a 64-bit number";
  return "";
}

std::string pdc::plan::checkProblem(const Problem &problem) {
  if (!(problem.fixedSeconds >= 0) || std::isinf(problem.fixedSeconds))
    return "every plan takes " + std::to_string(problem.fixedSeconds) + " s; expected a number of at least 0";
  if (problem.fixedBytes < 0)
    return "every plan takes " + std::to_string(problem.fixedBytes) + " bytes; expected at least 0";
  if (problem.memoryLimitBytes && *problem.memoryLimitBytes < 0)
    return "the memory limit is " + std::to_string(*problem.memoryLimitBytes) + " bytes; expected at least 0";
  for (auto check : {checkTables, checkNodes, checkEdges, checkTotalBytes})
    if (std::string error = check(problem); !error.empty())
      return error;
  return "";
}

PlanCost pdc::plan::evaluate(const Problem &problem, const std::vector<uint32_t> &choices) {
  PlanCost cost{problem.fixedSeconds, problem.fixedBytes};
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const UnaryTable &table = problem.unaryTables[problem.nodes[i].unaryTable];
    cost.seconds += table.seconds[choices[i]];
    if (!table.bytes.empty())
      cost.bytes += table.bytes[choices[i]];
  }
  for (const Edge &edge : problem.edges) {
    const PairTable &table = problem.pairTables[edge.pairTable];
    cost.seconds += table.secondsAt(choices[edge.first], choices[edge.second]);
    cost.bytes += table.bytesAt(choices[edge.first], choices[edge.second]);
  }
  return cost;
}
