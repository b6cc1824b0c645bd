//===- LayoutSearch.cpp - the best layouts of a model's steps -------------===//

#include "compiler/plan/search/LayoutSearch.h"
#include "compiler/plan/search/ApplyLayouts.h"
#include "compiler/plan/search/Explain.h"
#include "compiler/plan/search/Followers.h"
#include "compiler/plan/search/SearchSpace.h"
#include <chrono>
#include <memory>

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

static constexpr StringLiteral kMesh = "mesh";

namespace {

/// What was found on one mesh.
struct MeshPlan {
  MeshShape shape;
  dist::MeshOp mesh;
  std::unique_ptr<MeshCosts> costs;
  std::unique_ptr<SearchSpace> space;
  Solution solution;
};

class LayoutSearch {
public:
  LayoutSearch(ModuleOp module, const SearchRequest &request)
      : module(module), request(request), rules(request.parallel, request.rules) {}

  FailureOr<SearchOutcome> run() {
    auto begin = std::chrono::steady_clock::now();
    nn::StepOp deciding = findDecidingStep();
    if (!deciding)
      return module.emitError("has no nn.step to plan"), failure();
    std::vector<MeshShape> meshes = request.method.meshSeed
                                        ? std::vector{randomMesh(request.ranks, *request.method.meshSeed)}
                                        : candidateMeshes(request.parallel, request.ranks);
    if (failed(rules.check(deciding, meshes)))
      return failure();
    FailureOr<MeshPlan> best = findBestMesh(deciding, meshes);
    if (failed(best))
      return failure();
    outcome.decisions = explainDecisions(deciding, *best->space, best->solution);
    outcome.computeSeconds = best->space->computeSeconds(best->solution.choices);
    DecidedStep decided(deciding, *best->space, best->solution.choices);
    applyLayouts(deciding, *best->space, best->solution.choices, best->mesh);
    rules.fix(deciding);
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

  std::unique_ptr<SearchSpace> makeSpace(nn::StepOp step, MeshCosts &costs) {
    rules.enter(step, costs.getMesh());
    return std::make_unique<SearchSpace>(step, costs,
                       [&](Value value, dist::LayoutAttr layout) { return rules.allows(value, layout); });
  }

  dist::MeshOp createMesh(const MeshShape &shape) {
    OpBuilder b(module.getContext());
    SmallVector<StringRef> names(shape.names.begin(), shape.names.end());
    b.setInsertionPointToStart(module.getBody());
    return dist::MeshOp::create(b, module.getLoc(), kMesh, b.getStrArrayAttr(names),
                                b.getDenseI64ArrayAttr(shape.sizes));
  }

  /// The problem of a step on a mesh, solved.
  FailureOr<Solution> solveStep(nn::StepOp step, SearchSpace &space, std::optional<int64_t> memoryLimitBytes,
                                double usefulSeconds = std::numeric_limits<double>::infinity()) {
    if (Value value = space.getImpossible())
      return step.emitError("no layout is left for a value of type ")
                 << value.getType() << ": --parallel and --layout ask for what its size does not allow",
             failure();
    Problem &problem = space.getProblem();
    problem.memoryLimitBytes = memoryLimitBytes;
    if (std::string error = checkProblem(problem); !error.empty())
      return step.emitError("planning problem is malformed: ") << error, failure();
    Solution solution = request.method.solve(problem, usefulSeconds);
    if (std::string error = verifySolution(problem, solution); !error.empty())
      return step.emitError("the search found a plan that is none: ") << error, failure();
    return solution;
  }

  FailureOr<MeshPlan> findBestMesh(nn::StepOp step, ArrayRef<MeshShape> meshes) {
    std::optional<MeshPlan> best;
    outcome.lowerBoundSeconds = std::numeric_limits<double>::infinity();
    if (failed(searchMeshes(step, meshes, best)))
      return failure();
    if (best->solution.status == SolutionStatus::impossible)
      return step.emitError("no plan keeps what --parallel and --layout ask for"), failure();
    if (best->solution.status == SolutionStatus::overMemory && !request.takesClosest)
      return reportOverMemory(step, *best);
    return std::move(*best);
  }

  /// Tries each mesh. Under a memory limit all are searched without it first, which takes a fraction of the time; then
  /// the best of them is searched for (BestOf.h).
  LogicalResult searchMeshes(nn::StepOp step, ArrayRef<MeshShape> meshes, std::optional<MeshPlan> &best) {
    bool hasLimit = request.memoryLimitBytes.has_value() && meshes.size() > 1;
    std::vector<MeshPlan> waiting;
    for (const MeshShape &shape : meshes) {
      MeshPlan tried;
      tried.shape = shape;
      tried.mesh = createMesh(shape);
      tried.costs = std::make_unique<MeshCosts>(request.cluster, request.costs, tried.mesh);
      tried.space = makeSpace(step, *tried.costs);
      // A mesh that cannot keep the rules is no candidate; the last one tells why if none can.
      bool isLast = &shape == &meshes.back() && !best && waiting.empty();
      if (tried.space->getImpossible() && !isLast) {
        tried.mesh.erase();
        continue;
      }
      auto limit = hasLimit ? std::nullopt : request.memoryLimitBytes;
      FailureOr<Solution> solution = solveStep(step, *tried.space, limit);
      if (failed(solution))
        return failure();
      tried.solution = std::move(*solution);
      outcome.plansConsidered += tried.solution.statistics.plansConsidered;
      if (hasLimit)
        waiting.push_back(std::move(tried));
      else
        consider(best, std::move(tried));
    }
    std::vector<OpenProblem> open;
    for (MeshPlan &tried : waiting) {
      tried.space->getProblem().memoryLimitBytes = request.memoryLimitBytes;
      open.push_back({&tried.space->getProblem(), std::move(tried.solution)});
    }
    if (hasLimit)
      request.method.solveBestOf(open);
    for (auto [tried, solved] : llvm::zip(waiting, open)) {
      if (std::string error = verifySolution(*solved.problem, solved.solution); !error.empty())
        return step.emitError("the search found a plan that is none: ") << error;
      tried.solution = std::move(solved.solution);
      consider(best, std::move(tried));
    }
    return success();
  }

  void consider(std::optional<MeshPlan> &best, MeshPlan tried) {
    const Solution &solution = tried.solution;
    if (solution.status == SolutionStatus::found)
      outcome.lowerBoundSeconds = std::min(outcome.lowerBoundSeconds, solution.lowerBoundSeconds);
    auto rank = [](const Solution &s) {
      // What fits before what does not; then time, or for what does not fit memory.
      return std::make_pair(static_cast<int>(s.status),
                            s.status == SolutionStatus::found ? s.seconds : static_cast<double>(s.bytes));
    };
    if (best && !(rank(solution) < rank(best->solution)))
      return tried.mesh.erase();
    if (best)
      best->mesh.erase();
    best = std::move(tried);
  }

  LogicalResult reportOverMemory(nn::StepOp step, const MeshPlan &closest) {
    InFlightDiagnostic error = step.emitError("no plan fits into ")
                               << *request.memoryLimitBytes
                               << " bytes a rank: the one that needs least needs " << closest.solution.bytes
                               << ", " << closest.solution.bytes - *request.memoryLimitBytes << " more (mesh";
    for (auto [name, size] : llvm::zip(closest.shape.names, closest.shape.sizes))
      error << " " << name << "=" << size;
    return error << "); use more ranks, a smaller batch or a larger --memory-limit";
  }

  /// Plans another step on the chosen mesh: what the decided one has too is as there.
  LogicalResult follow(nn::StepOp step, const DecidedStep &decided, MeshPlan &best) {
    std::unique_ptr<SearchSpace> space = makeSpace(step, *best.costs);
    if (!request.method.meshSeed && !space->getImpossible())
      decided.decide(step, *space);
    FailureOr<Solution> solution = solveStep(step, *space, request.memoryLimitBytes);
    if (failed(solution))
      return failure();
    if (solution->status == SolutionStatus::impossible)
      return step.emitError("no plan keeps the layouts of parameters, states and inputs in training");
    applyLayouts(step, *space, solution->choices, best.mesh);
    return success();
  }

  void finish(const MeshPlan &best) {
    outcome.meshAxes = best.shape.names;
    outcome.meshSizes = best.shape.sizes;
    outcome.stepSeconds = best.solution.seconds;
    outcome.bytes = best.solution.bytes;
    outcome.lowerBoundSeconds = std::min(outcome.lowerBoundSeconds, best.solution.seconds);
    outcome.gap = best.solution.seconds > 0
                      ? (best.solution.seconds - outcome.lowerBoundSeconds) / best.solution.seconds
                      : 0;
    outcome.solver = request.method.name;
    outcome.parallel = describeParallelism(findDecidingStep(), request.parallel, request.ranks);
  }

  ModuleOp module;
  const SearchRequest &request;
  LayoutRules rules;
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
