//===- Options.h - what a compilation is asked for --------------*- C++ -*-===//
#ifndef PDC_COMPILER_PIPELINE_OPTIONS_H
#define PDC_COMPILER_PIPELINE_OPTIONS_H

#include "compiler/machine/Cluster.h"
#include "compiler/plan/ParallelSpec.h"
#include "compiler/plan/search/LayoutRule.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "runtime/program/program_generated.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pdc::pipeline {

/// Of pdc and of what it writes.
inline constexpr char kCompilerVersion[] = "0.1.0";

enum class Phase { Model, Specialized, Step, Plan, Partitioned, Fused, Rt, Program };

struct PhaseDescription {
  Phase phase;
  const char *name;        // of --to
  const char *description; // one line
};

/// In order.
extern const PhaseDescription kPhases[8];

std::optional<Phase> parsePhase(const std::string &name);

enum class Mode { Train, Infer };

struct CompileOptions {
  std::optional<int64_t> batch; // of the whole job; empty: the model's own
  int64_t ranks = 1;
  plan::ParallelSpec parallel;
  std::optional<int64_t> microBatches; // of a step; empty: as many as the pipeline has stages
  bool searchesMicroBatches = false;   // as many as are best
  std::string schedule;                // "1f1b", "interleaved:chunks=2"; empty: 1f1b, or accumulation on one stage;
                                       // "auto": the best
  /// What stages compute again: one for all of them, or one for each; empty: nothing, or what the plan says.
  std::vector<dist::Recompute> recompute;
  bool searchesRecompute = false; // as little as fits into memory
  std::optional<machine::Cluster> cluster;   // of `ranks` ranks; empty: the machine where pdc runs
  std::string costModel = "native";          // what the search minimizes: see cost::makeCostModel
  std::string search = "exact";              // how: see plan::makeSearchMethod
  std::vector<plan::LayoutRule> layoutRules; // obeyed by the search
  bool searchesDataParallel = false;         // layouts also where only the batch is split
  bool simulatesPlans = true;                // to choose among the plans that cost least
  std::string plan;              // the text of a plan to compile instead of searching; empty: none
  std::string planName;          // its file's name, for errors
  bool keepsPlan = false;        // Compiled::plan is wanted
  std::string precision = "f32"; // f32, bf16
  Mode mode = Mode::Train;

  std::string optimizer = "adamw";
  std::vector<std::string>
      optimizerSettings; // hyperparameters, "beta1=0.9"; the optimizer's defaults where not set
  double clipNorm = 0;   // 0: gradients are not clipped

  int64_t bucketBytes = 25'000'000; // gradient buckets, as PyTorch DDP's default
  int64_t memoryLimitBytes = 0;     // per rank; 0: none
  std::optional<int64_t> searchLimitBytes; // what the search may count, where that is not memoryLimitBytes
  bool takesClosest = false;               // where nothing fits by its count: the plan that needs least
  int threads = 1;                  // per rank

  std::string cpu = "host";   // LLVM's name of the processor that kernels are made for
  int kernelOptimization = 3; // 0 to 3, as -O: less compiles faster, for tests of many plans

  /// Bytes of workspace that a library call needs, or why the call cannot be made; asked of the runtime's kernels.
  /// Empty: none are planned.
  std::function<llvm::Expected<int64_t>(const program::InstructionT &, int threads)> workspaceBytes;

  /// Whether the pipeline is for a search to find, or part of it.
  bool searchesStages() const { return searchesPipeline() || searchesRecompute; }
  /// Whether its numbers are, and not only what its stages compute again.
  bool searchesPipeline() const { return parallel.searchesStages || searchesMicroBatches || schedule == "auto"; }
  /// The ranks of one stage of the pipeline, where all are alike.
  int64_t ranksOfStage() const { return ranks / parallel.pipeline; }
  /// Of each stage.
  std::vector<int64_t> ranksOfStages() const {
    std::vector<int64_t> result(parallel.pipeline, ranksOfStage());
    for (size_t i = 0; i < parallel.stages.size(); ++i)
      result[i] = parallel.stages[i].ranksOfStage();
    return result;
  }
  int64_t stageOf(int64_t rank) const {
    int64_t stage = 0;
    for (int64_t count : ranksOfStages()) {
      if (rank < count)
        break;
      rank -= count;
      ++stage;
    }
    return stage;
  }
};

} // namespace pdc::pipeline

#endif // PDC_COMPILER_PIPELINE_OPTIONS_H
