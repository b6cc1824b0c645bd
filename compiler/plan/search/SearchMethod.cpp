//===- SearchMethod.cpp - what --search names ----------------------------------===//

#include "compiler/plan/search/SearchMethod.h"
#include "compiler/plan/problem/Domains.h"
#include "compiler/plan/problem/Ilp.h"
#include "compiler/plan/problem/LocalSearch.h"
#include "compiler/plan/problem/Mcmc.h"
#include "compiler/plan/problem/Solver.h"
#include <random>

using namespace llvm;
using namespace pdc;
using namespace pdc::plan;

namespace {
/// "name:key=value,key=value"
struct SolverSpec {
  StringRef name;
  std::vector<std::pair<StringRef, uint64_t>> settings;
};
} // namespace

static Expected<SolverSpec> parseSpec(StringRef text) {
  SolverSpec spec;
  StringRef rest;
  std::tie(spec.name, rest) = text.split(':');
  SmallVector<StringRef> items;
  if (!rest.empty())
    rest.split(items, ',');
  for (StringRef item : items) {
    auto [key, value] = item.split('=');
    uint64_t number = 0;
    if (value.getAsInteger(10, number))
      return createStringError("--search=%s: expected %s=NUMBER, found '%s'", text.str().c_str(),
                               key.str().c_str(), item.str().c_str());
    spec.settings.emplace_back(key, number);
  }
  return spec;
}

/// Reads the settings that a solver has; any other is an error.
static Error readSettings(StringRef text, const SolverSpec &spec,
                          std::vector<std::pair<StringRef, uint64_t *>> known) {
  for (auto [key, value] : spec.settings) {
    auto found = find_if(known, [key = key](const auto &setting) { return setting.first == key; });
    if (found == known.end()) {
      std::string names;
      for (const auto &[name, target] : known)
        names += (names.empty() ? "" : ", ") + name.str();
      return createStringError("--search=%s: %s has no setting '%s'%s%s", text.str().c_str(),
                               spec.name.str().c_str(), key.str().c_str(), names.empty() ? "" : "; it has ",
                               names.c_str());
    }
    *found->second = value;
  }
  return Error::success();
}

/// Costs are predictions: a thousandth of a step more is no reason to search longer.
static SearchLimits searchLimits() {
  SearchLimits limits;
  limits.smallGap = 1e-3;
  return limits;
}

/// Any plan: each decision takes a random one of the choices that those before it allow.
static Solution randomPlan(const Problem &problem, uint64_t seed) {
  std::mt19937_64 random(seed);
  Adjacency adjacency(problem);
  Domains domains = allowedChoices(problem);
  Solution solution;
  solution.status = SolutionStatus::found;
  solution.statistics.plansConsidered = 1;
  std::vector<uint32_t> &choices = solution.choices;
  choices.assign(problem.nodes.size(), 0);
  for (uint32_t node = 0; node < problem.nodes.size(); ++node) {
    std::vector<uint32_t> open;
    for (uint32_t choice : domains[node]) {
      bool possible = problem.unaryTables[problem.nodes[node].unaryTable].seconds[choice] != forbidden;
      for (const Adjacency::Entry *entry = adjacency.begin(node); entry != adjacency.end(node); ++entry) {
        if (entry->neighbor > node)
          continue;
        const PairTable &table = problem.pairTables[entry->pairTable];
        uint32_t other = choices[entry->neighbor];
        possible &=
            (entry->isFirst ? table.secondsAt(choice, other) : table.secondsAt(other, choice)) != forbidden;
      }
      if (possible)
        open.push_back(choice);
    }
    if (open.empty())
      return Solution();
    choices[node] = open[random() % open.size()];
  }
  PlanCost cost = evaluate(problem, choices);
  solution.seconds = cost.seconds;
  solution.bytes = cost.bytes;
  if (problem.memoryLimitBytes && cost.bytes > *problem.memoryLimitBytes)
    solution.status = SolutionStatus::overMemory;
  return solution;
}

Expected<SearchMethod> plan::makeSearchMethod(StringRef text) {
  Expected<SolverSpec> spec = parseSpec(text);
  if (!spec)
    return spec.takeError();
  SearchMethod method{text.str(), {}, {}, {}, {}};
  McmcOptions mcmc;
  uint64_t ilpSeconds = 60, seed = 1;
  std::vector<std::pair<StringRef, uint64_t *>> settings;
  if (spec->name == "exact") {
    method.solve = [](const Problem &p) { return solve(p, searchLimits()); };
    method.solveFastestOf = [](std::vector<OpenProblem> &problems) { solveFastestOf(problems, searchLimits()); };
    method.solveBestOf = [](std::vector<OpenProblem> &problems) { solveBestOf(problems, searchLimits()); };
  } else if (spec->name == "ilp") {
    settings = {{"seconds", &ilpSeconds}};
  } else if (spec->name == "mcmc") {
    settings = {{"proposals", &mcmc.proposals}, {"seed", &seed}};
  } else if (spec->name == "random") {
    settings = {{"seed", &seed}};
  } else {
    return createStringError("--search=%s: there is no such search; there are exact, mcmc, ilp and random",
                             text.str().c_str());
  }
  if (Error error = readSettings(text, *spec, settings))
    return std::move(error);
  mcmc.seed = static_cast<unsigned>(seed);
  if (spec->name == "ilp")
    method.solve = [ilpSeconds](const Problem &p) { return solveByIlp(p, static_cast<double>(ilpSeconds)); };
  if (spec->name == "mcmc")
    method.solve = [mcmc](const Problem &p) { return solveByMcmc(p, mcmc); };
  if (spec->name == "random") {
    method.solve = [seed](const Problem &p) { return randomPlan(p, seed); };
    method.meshSeed = seed;
  }
  if (!method.solveBestOf)
    method.solveBestOf = method.solveFastestOf = [solve = method.solve](std::vector<OpenProblem> &problems) {
      for (OpenProblem &open : problems)
        open.solution = solve(*open.problem);
    };
  return method;
}
