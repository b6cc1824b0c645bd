//===- Ilp.cpp - the problem as an integer program ------------------------===//

#include "compiler/plan/problem/Ilp.h"
#include "compiler/plan/problem/LocalSearch.h"
#include <algorithm>
#include <cmath>
#include <coin/Cbc_C_Interface.h>
#include <limits>
#include <map>

using namespace pdc::plan;

namespace {
/// Columns and rows of a program, column by column.
struct LinearProgram {
  std::vector<int> starts{0}, rowOf;
  std::vector<double> values, objective, upper;
  std::vector<double> rowLower, rowUpper;

  int addRow(double lower, double upperBound) {
    rowLower.push_back(lower);
    rowUpper.push_back(upperBound);
    return static_cast<int>(rowLower.size()) - 1;
  }
  /// Rows ascend.
  void addColumn(double cost, const std::map<int, double> &entries) {
    objective.push_back(cost);
    upper.push_back(1);
    for (auto [row, value] : entries) {
      rowOf.push_back(row);
      values.push_back(value);
    }
    starts.push_back(static_cast<int>(rowOf.size()));
  }
  int numColumns() const { return static_cast<int>(objective.size()); }
  int numRows() const { return static_cast<int>(rowLower.size()); }
};

/// What is minimized.
enum class Objective { seconds, bytes };

class IlpSearch {
public:
  IlpSearch(const Problem &problem, double maxSeconds)
      : problem(problem), maxSeconds(maxSeconds), domains(allowedChoices(problem)) {}

  Solution run() {
    Solution solution;
    solution.proof = Proof::exact;
    if (hasEmptyDomain(domains))
      return solution;
    solve(Objective::seconds, problem.memoryLimitBytes.has_value(), solution);
    // Nothing fits: the least memory.
    if (solution.status == SolutionStatus::impossible && solution.proof == Proof::exact &&
        problem.memoryLimitBytes) {
      solve(Objective::bytes, false, solution);
      solution.lowerBoundSeconds = 0;
      solution.lowerBoundBytes = solution.bytes;
    }
    return solution;
  }

private:
  double unaryCost(uint32_t node, uint32_t choice) const {
    return pricing.unary(problem.unaryTables[problem.nodes[node].unaryTable], choice) * scale;
  }
  double unaryBytes(uint32_t node, uint32_t choice) const {
    const UnaryTable &table = problem.unaryTables[problem.nodes[node].unaryTable];
    return table.bytes.empty() ? 0 : static_cast<double>(table.bytes[choice]);
  }

  void build(bool hasLimit) {
    program = {};
    choiceRow.clear();
    firstColumn.clear();
    memoryRow = -1;
    for (uint32_t node = 0; node < domains.size(); ++node)
      choiceRow.push_back(program.addRow(1, 1));
    if (hasLimit) {
      memoryUnit = std::max<double>(1, static_cast<double>(*problem.memoryLimitBytes) / 1000);
      double left = static_cast<double>(*problem.memoryLimitBytes - problem.fixedBytes);
      memoryRow = program.addRow(std::numeric_limits<double>::lowest(), left / memoryUnit);
    }
    // Rows of the edges, which the columns of the choices need: for each choice of its ends one.
    std::vector<std::vector<int>> edgeRows(problem.edges.size());
    std::vector<std::vector<std::vector<int>>> rowsOfNode(domains.size()); // per choice
    for (uint32_t node = 0; node < domains.size(); ++node)
      rowsOfNode[node].resize(domains[node].size());
    for (size_t i = 0; i < problem.edges.size(); ++i)
      for (uint32_t node : {problem.edges[i].first, problem.edges[i].second})
        for (size_t choice = 0; choice < domains[node].size(); ++choice) {
          edgeRows[i].push_back(program.addRow(0, 0));
          rowsOfNode[node][choice].push_back(edgeRows[i].back());
        }
    for (uint32_t node = 0; node < domains.size(); ++node) {
      firstColumn.push_back(program.numColumns());
      for (size_t k = 0; k < domains[node].size(); ++k) {
        std::map<int, double> entries{{choiceRow[node], 1.0}};
        if (memoryRow >= 0)
          entries[memoryRow] = unaryBytes(node, domains[node][k]) / memoryUnit;
        for (int row : rowsOfNode[node][k])
          entries[row] = -1;
        program.addColumn(unaryCost(node, domains[node][k]), entries);
      }
    }
    numChoiceColumns = program.numColumns();
    for (size_t i = 0; i < problem.edges.size(); ++i)
      addPairs(problem.edges[i], edgeRows[i]);
  }

  void addPairs(const Edge &edge, const std::vector<int> &rows) {
    const PairTable &table = problem.pairTables[edge.pairTable];
    const std::vector<uint32_t> &first = domains[edge.first], &second = domains[edge.second];
    for (size_t a = 0; a < first.size(); ++a)
      for (size_t b = 0; b < second.size(); ++b) {
        if (table.secondsAt(first[a], second[b]) == forbidden)
          continue;
        std::map<int, double> entries{{rows[a], 1.0}, {rows[first.size() + b], 1.0}};
        if (memoryRow >= 0)
          entries[memoryRow] = static_cast<double>(table.bytesAt(first[a], second[b])) / memoryUnit;
        program.addColumn(pricing.pair(table, first[a], second[b]) * scale, entries);
      }
  }

  /// CBC's tolerances are absolute: costs are brought to the order of a thousand.
  void chooseScale(Objective objective) {
    pricing = Pricing{0, objective == Objective::bytes};
    Adjacency adjacency(problem);
    PlanCost greedy = evaluate(problem, greedyPlan(problem, adjacency, domains, pricing));
    double cost = pricing.cost(greedy.seconds, greedy.bytes);
    scale = cost > 0 && !std::isinf(cost) ? 1e3 / cost : 1e3;
  }

  void solve(Objective objective, bool hasLimit, Solution &solution) {
    chooseScale(objective);
    build(hasLimit);
    Cbc_Model *model = Cbc_newModel();
    Cbc_setLogLevel(model, 0);
    Cbc_setParameter(model, "logLevel", "0");
    Cbc_loadProblem(model, program.numColumns(), program.numRows(), program.starts.data(),
                    program.rowOf.data(), program.values.data(), nullptr, program.upper.data(),
                    program.objective.data(), program.rowLower.data(), program.rowUpper.data());
    for (int column = 0; column < numChoiceColumns; ++column)
      Cbc_setInteger(model, column);
    Cbc_setMaximumSeconds(model, maxSeconds);
    Cbc_setAllowableGap(model, 0);
    Cbc_setAllowableFractionGap(model, 0);
    Cbc_solve(model);
    read(model, solution);
    Cbc_deleteModel(model);
  }

  void read(Cbc_Model *model, Solution &solution) const {
    ++solution.statistics.solves;
    solution.statistics.searchNodes += static_cast<uint64_t>(Cbc_getNodeCount(model));
    bool isOptimal = Cbc_isProvenOptimal(model);
    solution.proof = isOptimal || Cbc_isProvenInfeasible(model) ? Proof::exact : Proof::bound;
    const double *values = Cbc_bestSolution(model);
    if (Cbc_isProvenInfeasible(model) || !values)
      return;
    solution.choices.clear();
    for (uint32_t node = 0; node < domains.size(); ++node) {
      const double *begin = values + firstColumn[node];
      size_t chosen = static_cast<size_t>(std::max_element(begin, begin + domains[node].size()) - begin);
      solution.choices.push_back(domains[node][chosen]);
    }
    PlanCost cost = evaluate(problem, solution.choices);
    solution.seconds = cost.seconds;
    solution.bytes = cost.bytes;
    bool isWithin = !problem.memoryLimitBytes || cost.bytes <= *problem.memoryLimitBytes;
    solution.status = isWithin ? SolutionStatus::found : SolutionStatus::overMemory;
    solution.lowerBoundSeconds =
        isOptimal
            ? solution.seconds
            : std::min(solution.seconds, Cbc_getBestPossibleObjValue(model) / scale + problem.fixedSeconds);
  }

  const Problem &problem;
  const double maxSeconds;
  const Domains domains;
  Pricing pricing;
  double scale = 1, memoryUnit = 1;
  LinearProgram program;
  std::vector<int> choiceRow, firstColumn;
  int memoryRow = -1, numChoiceColumns = 0;
};
} // namespace

Solution pdc::plan::solveByIlp(const Problem &problem, double maxSeconds) {
  return IlpSearch(problem, maxSeconds).run();
}
