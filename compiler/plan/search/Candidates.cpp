//===- Candidates.cpp - plans to choose among -----------------------------===//

#include "compiler/plan/search/Candidates.h"
#include "compiler/plan/search/ApplyLayouts.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

/// A plan that costs more than so often the least is not simulated: costs are not that wrong.
static constexpr double kWorthSimulating = 2;
/// Of all simulated steps together, so that large models wait for a few seconds only; two are always compared.
static constexpr size_t kMostCandidates = 6, kLeastCandidates = 2;
static constexpr int64_t kMostOps = 12'000;
/// Instructions of all ranks, in all simulations: where there are more, the least cost decides.
static constexpr int64_t kMostInstructions = 4'000'000;

std::string plan::describeMesh(const MeshShape &shape) {
  std::string text = "mesh";
  for (auto [name, size] : llvm::zip(shape.names, shape.sizes))
    text += " " + name + "=" + std::to_string(size);
  return text;
}

void plan::sortCandidates(std::vector<Candidate> &candidates, llvm::function_ref<double(const Solution &)> numberOf) {
  std::vector<std::tuple<SolutionStatus, double, size_t>> order;
  for (auto [index, candidate] : llvm::enumerate(candidates))
    order.emplace_back(candidate.solution.status, numberOf(candidate.solution), index);
  llvm::sort(order);
  std::vector<Candidate> sorted;
  for (auto [status, number, index] : order)
    sorted.push_back(std::move(candidates[index]));
  candidates = std::move(sorted);
}

void plan::sortCandidates(std::vector<Candidate> &candidates) {
  sortCandidates(candidates, [](const Solution &solution) {
    return solution.status == SolutionStatus::found ? solution.seconds : static_cast<double>(solution.bytes);
  });
}

/// A module with this step alone, laid out as a candidate says.
static OwningOpRef<ModuleOp> writePlan(nn::StepOp step, const Candidate &candidate) {
  auto module = step->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> copy = ModuleOp::create(module.getLoc());
  (*copy)->setAttrs(module->getAttrDictionary());
  OpBuilder b = OpBuilder::atBlockEnd(copy->getBody());
  auto mesh = cast<dist::MeshOp>(b.clone(*candidate.mesh));
  auto planned = cast<nn::StepOp>(b.clone(*step));
  applyLayouts(planned, decisionsOf(step, *candidate.space, candidate.solution.choices), mesh);
  return copy;
}

/// Presets often give what the search has found, and a mesh what another one has.
static bool isKnown(const Candidate &candidate, ArrayRef<size_t> chosen, const std::vector<Candidate> &all) {
  return llvm::any_of(chosen, [&](size_t index) {
    return all[index].solution.seconds == candidate.solution.seconds &&
           all[index].solution.bytes == candidate.solution.bytes;
  });
}

bool plan::mayPredict(nn::StepOp step, int64_t ranks) {
  auto ops = static_cast<int64_t>(step.getBody().front().getOperations().size());
  return ops * ranks * static_cast<int64_t>(kLeastCandidates) <= kMostInstructions;
}

static SmallVector<size_t> worthSimulating(nn::StepOp step, const std::vector<Candidate> &candidates, int64_t ranks) {
  auto ops = static_cast<int64_t>(step.getBody().front().getOperations().size());
  size_t most = std::clamp<size_t>(kMostOps / ops, kLeastCandidates, kMostCandidates);
  SmallVector<size_t> worth;
  for (auto [index, candidate] : llvm::enumerate(candidates))
    if (worth.size() < most && candidate.solution.status == SolutionStatus::found &&
        candidate.solution.seconds <= kWorthSimulating * candidates.front().solution.seconds &&
        !isKnown(candidate, worth, candidates))
      worth.push_back(index);
  if (worth.size() < 2 || ops * ranks * static_cast<int64_t>(worth.size()) > kMostInstructions)
    return {};
  return worth;
}

size_t plan::chooseByPrediction(nn::StepOp step, const std::vector<Candidate> &candidates,
                                const SearchRequest &request, std::vector<SimulatedPlan> &simulated) {
  size_t chosen = 0;
  SimulatedPlan *best = nullptr;
  SmallVector<size_t> worth = worthSimulating(step, candidates, request.ranks);
  simulated.reserve(worth.size());
  for (size_t index : worth) {
    // What cannot be lowered is no choice here, and an error where nothing else is.
    ScopedDiagnosticHandler quiet(step.getContext(), [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> planned = writePlan(step, candidates[index]);
    FailureOr<StepPrediction> predicted = request.predict(*planned);
    if (failed(predicted))
      continue;
    simulated.push_back({candidates[index].name, candidates[index].solution.seconds, *predicted});
    bool fits = request.arenaLimitBytes == 0 || predicted->arenaBytes <= request.arenaLimitBytes;
    if (!fits || (best && best->predicted.seconds <= predicted->seconds))
      continue;
    best = &simulated.back();
    chosen = index;
  }
  if (best)
    best->isChosen = true;
  else
    simulated.clear();
  return chosen;
}
