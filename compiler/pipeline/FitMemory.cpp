//===- FitMemory.cpp - plans until one fits into memory -------------------===//

#include "compiler/pipeline/FitMemory.h"
#include "compiler/pipeline/PlannedPipeline.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include <algorithm>
#include <limits>

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

/// Searches that follow the first one: those whose limit is corrected, and those whose limits lie between the least count
/// and the first plan's.
static constexpr int kCorrections = 4, kBetween = 8;

namespace {
/// The arenas of a planned module.
struct MemoryNeed {
  int64_t bytes = 0; // of the program that needs most
  std::string mode;  // that program
  int64_t stage = 0; // of the pipeline, which runs it
  int64_t stages = 1;
  std::string mesh;  // " data=2 tensor=2"; empty if the plan was not searched
  std::vector<int64_t> ofStages; // bytes of a rank of each
};

/// A plan, before it is lowered.
struct Planned {
  OwningOpRef<ModuleOp> module;
  std::optional<plan::SearchOutcome> outcome;
  CompileOptions options; // that it was made by
};

/// Whether the costs of stages say what it takes to compute something again, and to cut the model otherwise for it.
static bool isSearchedByCosts(const CompileOptions &options) {
  return options.parallel.stages.empty() && options.search == "exact" && options.costModel == "native" &&
         options.layoutRules.empty() && isSearchedSchedule(options.schedule);
}

/// Whether a search for layouts counts what no rank holds at once: it sees the whole model and batch, and nothing computed again.
static bool countsWholeStep(const CompileOptions &options) {
  return options.parallel.pipeline > 1 || options.microBatches.value_or(1) > 1 || !options.recompute.empty();
}

} // namespace

std::string pipeline::waysToNeedLess(const CompileOptions &options, bool trains, int64_t stages, bool recomputes) {
  std::string ways = "lower --batch, ";
  // Evaluation and inference keep nothing for a backward pass, and inference takes the whole batch at once.
  if (trains && stages == 1 && !options.microBatches && !options.searchesMicroBatches)
    ways += "split it into --micro-batches, ";
  if (trains && stages == 1 && options.microBatches)
    ways += "use more --micro-batches, ";
  if (trains && stages > 1)
    ways += "use more --micro-batches, a --schedule that holds fewer of them, ";
  if (trains && !recomputes && !options.searchesRecompute)
    ways += "give --recompute=auto, ";
  return ways + "or use more ranks";
}

namespace {

class MemoryFit {
public:
  MemoryFit(ModuleOp module, const CompileOptions &options, std::optional<plan::SearchOutcome> &outcome,
            const PlanningSteps &steps)
      : module(module), options(options), outcome(outcome), steps(steps) {}

  LogicalResult run() {
    if (options.memoryLimitBytes == 0)
      return failure(failed(steps.plan(options, outcome)) || failed(steps.lower(options, outcome)));
    if (failed(fit()))
      return failure();
    warnOfOthers();
    return success();
  }

private:
  LogicalResult fit() {
    unplanned = module.clone();
    // Numbers that are given, or a plan: what is computed again is all there is to find.
    bool isGiven = options.searchesRecompute && (!options.searchesPipeline() || !options.plan.empty());
    if (isGiven) {
      FailureOr<Planned> given = planUnlimited();
      if (failed(given))
        return failure();
      if (fitByRecomputing(*given))
        return success();
      if (!closest) { // it cannot be lowered at all: its error is told
        restore(*given->module);
        return steps.lower(given->options, outcome);
      }
      if (!given->outcome) // no layouts that could be others
        return refuse();
      restore(*unplanned);
    }
    return search(isGiven && !isSearchedByCosts(options));
  }

  /// Plans until one fits by its arenas, each with a limit of what may be counted.
  LogicalResult search(bool onlyLayouts) {
    CompileOptions tried = options;
    tried.searchesRecompute &= !onlyLayouts;
    // More may be counted than is needed: whether the closest plan fits, its arenas say.
    tried.takesClosest = options.searchesStages() || countsWholeStep(options);
    for (int search = 0;; ++search) {
      if (failed(steps.plan(tried, outcome)))
        return failure();
      Planned planned{OwningOpRef<ModuleOp>(module.clone()), outcome, tried};
      CompileOptions staged = withPlannedPipeline(module, tried);
      if (failed(steps.lower(tried, outcome)))
        return failure();
      bool isClosest = note(measure(staged));
      if (latest.bytes <= options.memoryLimitBytes) {
        keepEverything();
        return success();
      }
      tried.searchLimitBytes = nextLimit(tried, search, latest.bytes);
      if (search == 0)
        first = std::move(planned);
      else if (isClosest)
        closestPlan = std::move(planned);
      if (!tried.searchLimitBytes)
        break;
      tried.takesClosest = true;
      restore(*unplanned);
    }
    if (options.searchesRecompute && ((closestPlan && fitByRecomputing(*closestPlan)) || fitByRecomputing(*first)))
      return success();
    if (fitsUnlimited())
      return success();
    return refuse();
  }

  /// What plans need beyond their counts differs, so that of those whose count is too large another can need less than the one
  /// that counts least: with few layouts left open, the fastest one.
  bool fitsUnlimited() {
    restore(*unplanned);
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<Planned> unlimited = planUnlimited();
    if (failed(unlimited))
      return false;
    CompileOptions staged = withPlannedPipeline(module, unlimited->options);
    if (failed(steps.lower(unlimited->options, outcome)))
      return false;
    note(measure(staged));
    return latest.bytes <= options.memoryLimitBytes;
  }

  /// The fastest plan, whatever it needs; one that keeps everything where what is computed again is searched.
  FailureOr<Planned> planUnlimited() {
    CompileOptions keeping = options;
    if (options.searchesRecompute)
      keeping.recompute = {dist::Recompute::None};
    keeping.searchesRecompute = false;
    keeping.searchLimitBytes = std::numeric_limits<int64_t>::max();
    if (failed(steps.plan(keeping, outcome)))
      return failure();
    return Planned{OwningOpRef<ModuleOp>(module.clone()), outcome, keeping};
  }

  /// Lowers a plan as it is, but for what its stages compute again. False where it cannot be lowered so.
  bool lowerWith(const Planned &planned, ArrayRef<dist::Recompute> words) {
    restore(*planned.module);
    outcome = planned.outcome;
    CompileOptions asked = planned.options;
    asked.recompute.assign(words.begin(), words.end());
    module->removeAttr(dist::kRecomputeAttr);
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    CompileOptions staged = withPlannedPipeline(module, asked);
    if (failed(stateRecompute(module, staged)) || failed(steps.lower(asked, outcome)))
      return false;
    note(measure(staged));
    return true;
  }

  /// Has each stage of a plan compute again as little as its arena asks for. What a stage computes again changes its own
  /// programs alone, so that what each needs with every word is known from as many compilations as there are words.
  bool fitByRecomputing(const Planned &planned) {
    auto stages = static_cast<size_t>(withPlannedPipeline(*planned.module, planned.options).parallel.pipeline);
    std::vector<std::optional<dist::Recompute>> chosen(stages);
    for (dist::Recompute word : {dist::Recompute::None, dist::Recompute::Selective, dist::Recompute::Full}) {
      if (!lowerWith(planned, std::vector(stages, word)))
        continue;
      if (latest.bytes <= options.memoryLimitBytes && llvm::none_of(chosen, [](auto &own) { return own.has_value(); }))
        return true;
      for (auto [own, bytes] : llvm::zip_equal(chosen, latest.ofStages))
        if (!own && bytes <= options.memoryLimitBytes)
          own = word;
      if (llvm::all_of(chosen, [](auto &own) { return own.has_value(); }))
        break;
    }
    std::vector<dist::Recompute> words;
    for (std::optional<dist::Recompute> word : chosen)
      words.push_back(word.value_or(dist::Recompute::None));
    return llvm::all_of(chosen, [](auto &own) { return own.has_value(); }) && lowerWith(planned, words) &&
           latest.bytes <= options.memoryLimitBytes;
  }

  /// What the next search may count after one whose plan needs `bytes`. Nothing if there is no use in another.
  std::optional<int64_t> nextLimit(const CompileOptions &tried, int search, int64_t bytes) {
    if (!outcome)
      return std::nullopt;
    if (search == 0)
      firstCount = outcome->bytes;
    if (outcome->bytes > tried.searchLimitBytes.value_or(tried.memoryLimitBytes))
      leastCount = outcome->bytes; // nothing is counted to fit: this is the least
    if (!leastCount) {
      // What this plan needs beyond its count the next one is taken to need as well: its count is smaller.
      int64_t limit = options.memoryLimitBytes - (bytes - outcome->bytes);
      return search < kCorrections ? std::max<int64_t>(limit, 0) : 0;
    }
    // Plans of one count differ in what they need beyond it: some between the least count and the first may fit.
    if (between == kBetween || firstCount - *leastCount <= kBetween)
      return std::nullopt;
    return *leastCount + (firstCount - *leastCount) * between++ / kBetween;
  }

  /// What is counted can be more than what is needed: where a plan that fits computes again what it does not keep, takes the
  /// fastest one that keeps everything instead, if that fits, too.
  void keepEverything() {
    if (!options.searchesRecompute || !module->hasAttr(dist::kRecomputeAttr))
      return;
    Planned fitting{OwningOpRef<ModuleOp>(module.clone()), outcome, options};
    std::function<void()> bringBack = steps.snapshot();
    restore(*unplanned);
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    if (FailureOr<Planned> keeping = planUnlimited(); succeeded(keeping)) {
      CompileOptions staged = withPlannedPipeline(module, keeping->options);
      if (succeeded(steps.lower(keeping->options, outcome)) && measure(staged).bytes <= options.memoryLimitBytes)
        return;
    }
    restore(*fitting.module);
    outcome = std::move(fitting.outcome);
    bringBack();
  }

  /// Whether this is the closest plan so far.
  bool note(MemoryNeed need) {
    latest = std::move(need);
    bool isClosest = !closest || latest.bytes < closest->bytes;
    if (isClosest)
      closest = latest;
    return isClosest;
  }

  /// What the lowered module needs. `staged` is the pipeline as the plan states it (`withPlannedPipeline`), taken before it
  /// was lowered: the ranks of stages that are not alike stand in meshes, which are gone by then.
  MemoryNeed measure(const CompileOptions &staged) {
    MemoryNeed most;
    most.stages = staged.parallel.pipeline;
    most.ofStages.assign(most.stages, 0);
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
      if (!place)
        place = program.getLoc();
      if (!isLimited(program.getMode()))
        continue;
      int64_t bytes = arenaBytes(program);
      for (int64_t rank : program.getRanks()) {
        int64_t &ofStage = most.ofStages[staged.stageOf(rank)];
        ofStage = std::max(ofStage, bytes);
      }
      if (bytes > most.bytes) {
        most.bytes = bytes;
        most.mode = program.getMode().str();
        most.stage = staged.stageOf(program.getRanks().front());
      }
    }
    if (outcome)
      for (auto [axis, size] : llvm::zip(outcome->meshAxes, outcome->meshSizes))
        most.mesh += " " + axis + "=" + std::to_string(size);
    return most;
  }

  /// Whether a program's arena has to fit. Each command of an executable makes the arenas of what it runs: training those of
  /// steps and of validations; `verify` and `infer` have others, of no concern to what is planned for training.
  bool isLimited(StringRef mode) const {
    return options.mode == Mode::Infer || mode == "train" || mode == "evaluate";
  }

  static int64_t arenaBytes(rt::ProgramOp program) { return *program.getPrivateBytes() + *program.getSharedBytes(); }

  /// Inference takes a batch as a whole, and so can need more than training that splits it into micro-batches.
  void warnOfOthers() {
    int64_t most = 0;
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>())
      if (program.getMode() == "infer")
        most = std::max(most, arenaBytes(program));
    if (most > options.memoryLimitBytes)
      emitWarning(*place, "training fits, but the command `infer` needs ")
          << most << " bytes, " << most - options.memoryLimitBytes << " more than --memory-limit=" << options.memoryLimitBytes
          << ": it takes the batch as a whole; compile with --mode=infer and a smaller --batch for it";
  }

  /// Back to what was there before the plan.
  void restore(ModuleOp known) {
    OwningOpRef<ModuleOp> copy(known.clone());
    module->setAttrs((*copy)->getAttrDictionary());
    module.getBodyRegion().takeBody(copy->getBodyRegion());
  }

  LogicalResult refuse() {
    InFlightDiagnostic error = emitError(*place, "the plan does not fit: ");
    if (!closest->mesh.empty())
      error << "of those that were searched, the one that comes closest (mesh" << closest->mesh << ") needs ";
    else
      error << "a rank needs ";
    error << closest->bytes << " bytes for '" << closest->mode << "'";
    if (closest->stages > 1)
      error << " on stage " << closest->stage << " of the pipeline";
    error << ", " << closest->bytes - options.memoryLimitBytes
          << " more than --memory-limit=" << options.memoryLimitBytes << "; ";
    return error << waysToNeedLess(options, closest->mode == "train", closest->stages, module->hasAttr(dist::kRecomputeAttr));
  }

  ModuleOp module;
  const CompileOptions &options;
  std::optional<plan::SearchOutcome> &outcome;
  const PlanningSteps &steps;
  OwningOpRef<ModuleOp> unplanned;
  MemoryNeed latest;
  std::optional<MemoryNeed> closest;
  std::optional<Planned> first, closestPlan; // closestPlan: where it is not the first
  std::optional<Location> place;             // of the steps, for errors
  int64_t firstCount = 0;            // of the first plan
  std::optional<int64_t> leastCount; // of any plan, once it is known
  int between = 1;                   // the next part of what lies between both
};
} // namespace

LogicalResult pipeline::planWithinMemory(ModuleOp module, const CompileOptions &options,
                                         std::optional<plan::SearchOutcome> &outcome,
                                         const PlanningSteps &steps) {
  return MemoryFit(module, options, outcome, steps).run();
}
