//===- LayoutSearch.cpp - the best layouts of a model's steps -------------===//

#include "compiler/plan/search/LayoutSearch.h"
#include "compiler/cost/DeviceKinds.h"
#include "compiler/plan/search/ApplyLayouts.h"
#include "compiler/plan/search/Candidates.h"
#include "compiler/plan/search/Explain.h"
#include "compiler/plan/search/Followers.h"
#include "compiler/plan/search/MicroBatches.h"
#include "compiler/plan/search/SearchSpace.h"
#include "dialects/nn/Utils/Labels.h"
#include <chrono>
#include <cmath>
#include <list>
#include <memory>

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

static constexpr StringLiteral kMesh = "mesh";

/// Entries of the tables of a problem on three axes, up to which it is searched: larger ones take seconds to fill.
static constexpr double kMostEntriesOnThreeAxes = 60e3;

/// Where one axis of two gives a choice, one of three gives as many to the power of one and a half.
static double entriesOnThreeAxes(const Problem &onTwo) {
  double entries = 0;
  for (const PairTable &table : onTwo.pairTables)
    entries += std::pow(static_cast<double>(table.rows) * table.columns, 1.5);
  return entries;
}

namespace {

class LayoutSearch {
public:
  LayoutSearch(ModuleOp module, const SearchRequest &request)
      : module(module), request(request), microBatches(request.microBatches) {}

  FailureOr<SearchOutcome> run() {
    auto begin = std::chrono::steady_clock::now();
    nn::StepOp deciding = findDecidingStep();
    if (!deciding)
      return module.emitError("has no nn.step to plan"), failure();
    std::vector<MeshShape> meshes = request.method.meshSeed
                                        ? std::vector{randomMesh(request.ranks, *request.method.meshSeed)}
                                        : candidateMeshes(request.parallel, request.ranks);
    if (!request.method.meshSeed)
      threeAxes = threeAxisMesh(request.parallel, request.ranks, request.cluster.ranksPerNode());
    // A rule that names the third axis asks for it.
    if (threeAxes && llvm::any_of(request.rules, [&](const LayoutRule &rule) { return rule.axis == threeAxes->names.back(); })) {
      meshes.push_back(*threeAxes);
      threeAxes.reset();
    }
    if (failed(LayoutRules(request.parallel, request.rules).check(deciding, meshes)) ||
        (!request.parallel.isSearched && failed(microBatches.checkReplicas(deciding, request.parallel.data))))
      return failure();
    FailureOr<Candidate> best = findBest(deciding, meshes);
    if (failed(best))
      return failure();
    outcome.decisions = explainDecisions(deciding, *best->space, best->solution);
    outcome.computeSeconds = best->space->computeSeconds(best->solution.choices);
    DecidedStep decided(deciding, *best->space, best->solution.choices);
    applyLayouts(deciding, decisionsOf(deciding, *best->space, best->solution.choices), best->mesh);
    best->rules->fix(deciding);
    for (nn::StepOp step : module.getOps<nn::StepOp>())
      if (step != deciding && failed(follow(step, decided, *best)))
        return failure();
    finish(*best);
    outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return outcome;
  }

private:
  nn::StepOp findDecidingStep() {
    nn::StepOp first;
    for (nn::StepOp step : module.getOps<nn::StepOp>()) {
      if (step.getKind() == "train")
        return step;
      if (!first)
        first = step;
    }
    return first;
  }

  std::unique_ptr<SearchSpace> makeSpace(nn::StepOp step, Candidate &plan) {
    plan.rules->enter(step, plan.mesh);
    auto allows = [&](Value value, dist::LayoutAttr layout) { return plan.rules->allows(value, layout); };
    return std::make_unique<SearchSpace>(step, *plan.costs, allows, microBatches.of(step));
  }

  /// The problem of a step on a mesh, within what `parallel` leaves open.
  Candidate makeCandidate(nn::StepOp step, std::string name, const ParallelSpec &parallel, const MeshShape &shape) {
    OpBuilder b(module.getContext());
    SmallVector<StringRef> axes(shape.names.begin(), shape.names.end());
    b.setInsertionPointToStart(module.getBody());
    Candidate made;
    made.name = std::move(name);
    made.shape = shape;
    made.mesh = dist::MeshOp::create(b, module.getLoc(), kMesh, b.getStrArrayAttr(axes),
                                     b.getDenseI64ArrayAttr(shape.sizes));
    made.rules = std::make_unique<LayoutRules>(parallel, request.rules);
    // All ranks do the same: an op takes as long as on the slowest device.
    made.costs = std::make_unique<MeshCosts>(
        request.cluster, request.costs, made.mesh,
        MeshPlace{1, cost::ranksOfEachKind(request.cluster, 0, made.mesh.getNumRanks())});
    made.space = makeSpace(step, made);
    return made;
  }

  /// Those of the rules that leave the class of a value no layout: each forbids one that all others allow.
  std::string rulesAgainst(nn::StepOp step, Value value, SearchSpace &space, const LayoutRules &rules) {
    std::vector<LayoutRules::Reason> reasons = rules.reasonsFor(value);
    if (const passes::BatchSplit *split = microBatches.of(step))
      reasons.push_back({"--micro-batches=" + std::to_string(request.microBatches),
                         [split, &space](Value member, dist::LayoutAttr layout) {
                           return split->partsFit(member, layout, space.getMesh());
                         }});
    ArrayRef<Value> members = space.getClasses().members(space.getClasses().classOf(value));
    std::string text;
    for (const LayoutRules::Reason &reason : reasons) {
      auto forbidsAlone = [&](dist::LayoutAttr layout) {
        return llvm::all_of(reasons, [&](const LayoutRules::Reason &other) {
          return llvm::all_of(members, [&](Value member) { return other.allows(member, layout); }) ==
                 (&other != &reason);
        });
      };
      if (llvm::any_of(passes::enumerateLayouts(cast<RankedTensorType>(value.getType()), space.getMesh()), forbidsAlone))
        text += (text.empty() ? "" : "; and ") + reason.text;
    }
    return text.empty() ? "--parallel, --layout and --micro-batches together" : text;
  }

  /// "parameter 'fc1.weight'", "the result of nn.linear 'fc1'"
  static std::string describeValue(nn::StepOp step, Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      StepValueName name = nameOfArgument(step, argument.getArgNumber());
      std::string text = (name.role + " '" + name.name + "'").str();
      Operation *first = nullptr;
      for (Operation *user : value.getUsers())
        if (!isa<dist::AlikeOp>(user) && (!first || user->isBeforeInBlock(first)))
          first = user;
      return first ? text + " of " + first->getName().getStringRef().str() : text;
    }
    StringRef label = nn::getLabel(value.getLoc());
    return "the result of " + value.getDefiningOp()->getName().getStringRef().str() +
           (label.empty() ? "" : " '" + label.str() + "'");
  }

  /// Whether a problem can be searched; else an error.
  LogicalResult check(nn::StepOp step, SearchSpace &space, const LayoutRules &rules,
                      std::optional<int64_t> memoryLimitBytes) {
    if (Value value = space.getImpossible())
      return step.emitError("no layout is left for ")
             << describeValue(step, value) << ", " << value.getType()
             << ": what its size allows is forbidden by " << rulesAgainst(step, value, space, rules);
    space.getProblem().memoryLimitBytes = memoryLimitBytes;
    if (std::string error = checkProblem(space.getProblem()); !error.empty())
      return step.emitError("planning problem is malformed: ") << error;
    return success();
  }

  static LogicalResult verify(nn::StepOp step, const Problem &problem, const Solution &solution) {
    if (std::string error = verifySolution(problem, solution); !error.empty())
      return step.emitError("the search found a plan that is none: ") << error;
    return success();
  }

  /// The problem of a step on a mesh, solved.
  FailureOr<Solution> solveStep(nn::StepOp step, SearchSpace &space, const LayoutRules &rules,
                                std::optional<int64_t> memoryLimitBytes) {
    if (failed(check(step, space, rules, memoryLimitBytes)))
      return failure();
    Solution solution = request.method.solve(space.getProblem());
    if (failed(verify(step, space.getProblem(), solution)))
      return failure();
    return solution;
  }

  FailureOr<Candidate> findBest(nn::StepOp step, ArrayRef<MeshShape> meshes) {
    outcome.lowerBoundSeconds = std::numeric_limits<double>::infinity();
    std::vector<Candidate> found;
    if (failed(searchMeshes(step, meshes, found)))
      return failure();
    sortCandidates(found);
    const Solution &least = found.front().solution;
    if (least.status == SolutionStatus::impossible)
      return step.emitError("no plan keeps what --parallel and --layout ask for"), failure();
    if (least.status == SolutionStatus::overMemory && !request.takesClosest)
      return reportOverMemory(step, found.front());
    outcome.leastSeconds = least.seconds;
    size_t chosen = 0;
    if (least.status == SolutionStatus::found && request.parallel.isSearched && request.predict &&
        mayPredict(step, request.ranks)) {
      searchPresets(step, found);
      chosen = chooseByPrediction(step, found, request, outcome.simulated);
    }
    for (size_t index = 0; index < found.size(); ++index)
      if (index != chosen)
        found[index].mesh.erase();
    return std::move(found[chosen]);
  }

  /// Tries each mesh. Under a memory limit all are searched without it first, which takes a fraction of the time; then
  /// the best of them is searched for (BestOf.h, FastestOf.h).
  LogicalResult searchMeshes(nn::StepOp step, ArrayRef<MeshShape> meshes, std::vector<Candidate> &found) {
    bool hasLimit = request.memoryLimitBytes.has_value();
    for (const MeshShape &shape : meshes)
      if (failed(addMesh(step, shape, &shape == &meshes.back() && found.empty(), found)))
        return failure();
    if (threeAxes && llvm::all_of(found, [](const Candidate &candidate) {
          return entriesOnThreeAxes(candidate.space->getProblem()) <= kMostEntriesOnThreeAxes;
        }))
      if (failed(addMesh(step, *threeAxes, false, found)))
        return failure();
    std::vector<OpenProblem> open;
    for (Candidate &tried : found) {
      open.push_back({&tried.space->getProblem(), Solution()});
      if (!hasLimit || found.size() == 1)
        continue;
      FailureOr<Solution> unlimited = solveStep(step, *tried.space, *tried.rules, std::nullopt);
      if (failed(unlimited))
        return failure();
      open.back().solution = std::move(*unlimited);
      tried.space->getProblem().memoryLimitBytes = request.memoryLimitBytes;
    }
    (hasLimit && found.size() > 1 ? request.method.solveBestOf : request.method.solveFastestOf)(open);
    for (auto [tried, solved] : llvm::zip(found, open)) {
      if (failed(verify(step, *solved.problem, solved.solution)))
        return failure();
      tried.solution = std::move(solved.solution);
      outcome.plansConsidered += tried.solution.statistics.plansConsidered;
      noteBound(tried.solution);
    }
    return success();
  }

  /// A mesh that cannot keep the rules is no candidate; the last one tells why if none can.
  LogicalResult addMesh(nn::StepOp step, const MeshShape &shape, bool isLast, std::vector<Candidate> &found) {
    Candidate tried = makeCandidate(step, describeMesh(shape), request.parallel, shape);
    if (tried.space->getImpossible() && !isLast)
      return tried.mesh.erase(), success();
    if (failed(check(step, *tried.space, *tried.rules, request.memoryLimitBytes)))
      return failure();
    found.push_back(std::move(tried));
    return success();
  }

  void noteBound(const Solution &solution) {
    if (solution.status == SolutionStatus::found)
      outcome.lowerBoundSeconds = std::min(outcome.lowerBoundSeconds, solution.lowerBoundSeconds);
  }

  /// The best plan of each preset, beside those of meshes: where costs and predictions differ, one of them may be faster.
  void searchPresets(nn::StepOp step, std::vector<Candidate> &found) {
    for (StringRef preset : {"data", "zero1", "zero2", "zero3", "tensor"}) {
      const ParallelSpec &parallel = presets.emplace_back(llvm::cantFail(parseParallelSpec(preset, request.ranks)));
      Candidate tried = makeCandidate(step, preset.str(), parallel, candidateMeshes(parallel, request.ranks).front());
      ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
      FailureOr<Solution> solution = solveStep(step, *tried.space, *tried.rules, request.memoryLimitBytes);
      if (failed(solution) || solution->status != SolutionStatus::found) {
        tried.mesh.erase();
        continue;
      }
      tried.solution = std::move(*solution);
      found.push_back(std::move(tried));
    }
    sortCandidates(found);
  }

  LogicalResult reportOverMemory(nn::StepOp step, const Candidate &closest) {
    InFlightDiagnostic error = step.emitError("no plan fits into ")
                               << *request.memoryLimitBytes
                               << " bytes a rank: the one that needs least needs " << closest.solution.bytes
                               << ", " << closest.solution.bytes - *request.memoryLimitBytes << " more ("
                               << describeMesh(closest.shape);
    return error << "); " << request.waysToFit;
  }

  /// Plans another step on the chosen mesh: what the decided one has too is as there.
  LogicalResult follow(nn::StepOp step, const DecidedStep &decided, Candidate &best) {
    std::unique_ptr<SearchSpace> space = makeSpace(step, best);
    if (!request.method.meshSeed && !space->getImpossible())
      decided.decide(step, *space);
    FailureOr<Solution> solution = solveStep(step, *space, *best.rules, request.memoryLimitBytes);
    if (failed(solution))
      return failure();
    if (solution->status == SolutionStatus::impossible)
      return step.emitError("no plan keeps the layouts of parameters, states and inputs in training");
    applyLayouts(step, decisionsOf(step, *space, solution->choices), best.mesh);
    return success();
  }

  void finish(const Candidate &best) {
    outcome.meshAxes = best.shape.names;
    outcome.meshSizes = best.shape.sizes;
    outcome.stepSeconds = best.solution.seconds;
    outcome.bytes = best.solution.bytes;
    outcome.lowerBoundSeconds = std::min(outcome.lowerBoundSeconds, outcome.leastSeconds);
    outcome.gap =
        outcome.leastSeconds > 0 ? (outcome.leastSeconds - outcome.lowerBoundSeconds) / outcome.leastSeconds : 0;
    outcome.solver = request.method.name;
    outcome.parallel = describeParallelism(findDecidingStep(), request.parallel, request.ranks);
  }

  ModuleOp module;
  const SearchRequest &request;
  MicroBatches microBatches;
  std::optional<MeshShape> threeAxes; // to be tried where that is cheap
  std::list<ParallelSpec> presets;    // that rules refer to
  SearchOutcome outcome;
};

} // namespace

FailureOr<SearchOutcome> plan::searchLayouts(ModuleOp module, const SearchRequest &request) {
  if (Operation *taken = module.lookupSymbol(kMesh))
    return taken->emitError() << "the plan's mesh needs the name @" << kMesh
                              << "; is this module planned already?",
           failure();
  return LayoutSearch(module, request).run();
}
