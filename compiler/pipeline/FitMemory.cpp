//===- FitMemory.cpp - plans until one fits into memory -------------------===//

#include "compiler/pipeline/FitMemory.h"
#include "compiler/pipeline/PlannedPipeline.h"
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
};

class MemoryFit {
public:
  MemoryFit(ModuleOp module, const CompileOptions &options, std::optional<plan::SearchOutcome> &outcome,
            PlanAndLower planAndLower, Snapshot snapshot)
      : module(module), options(options), outcome(outcome), planAndLower(planAndLower), snapshot(snapshot) {}

  LogicalResult run() {
    if (options.memoryLimitBytes == 0)
      return planAndLower(options, outcome);
    OwningOpRef<ModuleOp> unplanned(module.clone());
    CompileOptions tried = options;
    for (int search = 0;; ++search) {
      if (failed(planAndLower(tried, outcome)))
        return failure();
      MemoryNeed need = measure();
      if (need.bytes <= options.memoryLimitBytes) {
        keepEverything(*unplanned);
        return success();
      }
      if (!closest || need.bytes < closest->bytes)
        closest = need;
      tried.searchLimitBytes = nextLimit(tried, search, need.bytes);
      if (!tried.searchLimitBytes)
        return refuse();
      tried.takesClosest = true;
      restore(*unplanned);
    }
  }

private:
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
  void keepEverything(ModuleOp unplanned) {
    if (!options.searchesRecompute || !module->hasAttr(dist::kRecomputeAttr))
      return;
    OwningOpRef<ModuleOp> fitting(module.clone());
    std::optional<plan::SearchOutcome> found = outcome;
    std::function<void()> bringBack = snapshot();
    CompileOptions keeping = options;
    keeping.searchesRecompute = false;
    keeping.keepsPlan = true; // the steps are made for a search
    keeping.recompute = {dist::Recompute::None};
    keeping.searchLimitBytes = std::numeric_limits<int64_t>::max();
    restore(unplanned);
    ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
    if (succeeded(planAndLower(keeping, outcome)) && measure().bytes <= options.memoryLimitBytes)
      return;
    restore(*fitting);
    outcome = std::move(found);
    bringBack();
  }

  MemoryNeed measure() {
    MemoryNeed most;
    // The pipeline may be what was asked for, found by the search, or read from a file: the module states it.
    CompileOptions staged = withPlannedPipeline(module, options);
    most.stages = staged.parallel.pipeline;
    // The single-device step that `verify` compares with has arenas of its own, which no other command makes.
    for (rt::ProgramOp program : module.getOps<rt::ProgramOp>())
      if (int64_t bytes = *program.getPrivateBytes() + *program.getSharedBytes();
          program.getMode() != "reference_gradient" && bytes > most.bytes) {
        most.bytes = bytes;
        most.mode = program.getMode().str();
        most.stage = staged.stageOf(program.getRanks().front());
      }
    if (outcome)
      for (auto [axis, size] : llvm::zip(outcome->meshAxes, outcome->meshSizes))
        most.mesh += " " + axis + "=" + std::to_string(size);
    return most;
  }

  /// Back to what was there before the plan.
  void restore(ModuleOp unplanned) {
    OwningOpRef<ModuleOp> copy(unplanned.clone());
    module->setAttrs((*copy)->getAttrDictionary());
    module.getBodyRegion().takeBody(copy->getBodyRegion());
  }

  LogicalResult refuse() {
    InFlightDiagnostic error = (*module.getOps<rt::ProgramOp>().begin()).emitError("the plan does not fit: ");
    if (!closest->mesh.empty())
      error << "of those that were searched, the one that comes closest (mesh" << closest->mesh << ") needs ";
    else
      error << "a rank needs ";
    error << closest->bytes << " bytes for '" << closest->mode << "'";
    if (closest->stages > 1)
      error << " on stage " << closest->stage << " of the pipeline";
    error << ", " << closest->bytes - options.memoryLimitBytes
          << " more than --memory-limit=" << options.memoryLimitBytes << "; lower --batch, ";
    if (closest->stages > 1)
      error << "use more --micro-batches, a --schedule that holds fewer of them, ";
    if (options.mode == Mode::Train && !module->hasAttr(dist::kRecomputeAttr) && !options.searchesRecompute)
      error << "give --recompute, ";
    return error << "or use more ranks";
  }

  ModuleOp module;
  const CompileOptions &options;
  std::optional<plan::SearchOutcome> &outcome;
  PlanAndLower planAndLower;
  Snapshot snapshot;
  std::optional<MemoryNeed> closest;
  int64_t firstCount = 0;            // of the first plan
  std::optional<int64_t> leastCount; // of any plan, once it is known
  int between = 1;                   // the next part of what lies between both
};
} // namespace

LogicalResult pipeline::planWithinMemory(ModuleOp module, const CompileOptions &options,
                                         std::optional<plan::SearchOutcome> &outcome,
                                         PlanAndLower planAndLower, Snapshot snapshot) {
  return MemoryFit(module, options, outcome, planAndLower, snapshot).run();
}
