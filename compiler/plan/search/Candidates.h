//===- Candidates.h - plans to choose among ---------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_CANDIDATES_H
#define PDC_COMPILER_PLAN_SEARCH_CANDIDATES_H

#include "compiler/plan/search/LayoutSearch.h"
#include "compiler/plan/search/SearchSpace.h"

namespace pdc::plan {

/// The best plan on one mesh, within what a preset allows if there is one.
struct Candidate {
  std::string name; // for the report
  MeshShape shape;
  dist::MeshOp mesh;
  std::unique_ptr<LayoutRules> rules;
  std::unique_ptr<MeshCosts> costs;
  std::unique_ptr<SearchSpace> space;
  Solution solution;
};

/// "mesh data=2 tensor=2"
std::string describeMesh(const MeshShape &shape);

/// What fits before what does not, then by the least number; those that are equal keep their order.
void sortCandidates(std::vector<Candidate> &candidates, llvm::function_ref<double(const Solution &)> numberOf);
/// By cost, or for what does not fit by memory.
void sortCandidates(std::vector<Candidate> &candidates);

/// Whether a step on so many ranks is small enough to be predicted for several plans.
bool mayPredict(nn::StepOp step, int64_t ranks);

/// Which of the sorted candidates takes least time as a finished program, by `request.predict`, among those that cost
/// little and whose arenas fit. Few are tried, and fewer of a long step; where none can be predicted or fits it is the
/// first. `step` is the one that they decide, still without layouts. `simulated` tells what was predicted.
size_t chooseByPrediction(nn::StepOp step, const std::vector<Candidate> &candidates, const SearchRequest &request,
                          std::vector<SimulatedPlan> &simulated);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_CANDIDATES_H
