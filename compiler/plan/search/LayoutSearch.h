//===- LayoutSearch.h - the best layouts of a model's steps -----*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_LAYOUTSEARCH_H
#define PDC_COMPILER_PLAN_SEARCH_LAYOUTSEARCH_H

#include "compiler/cost/CostModel.h"
#include "compiler/plan/SearchOutcome.h"
#include "compiler/plan/search/LayoutRules.h"
#include "compiler/plan/search/SearchMethod.h"
#include "mlir/IR/BuiltinOps.h"
#include <functional>
#include <optional>

namespace pdc::plan {

struct SearchRequest {
  const machine::Cluster &cluster;
  const cost::CostModel &costs;
  int64_t ranks = 1;
  ParallelSpec parallel = {};
  std::vector<LayoutRule> rules = {};
  int64_t microBatches = 1; // in which steps will run, those for inference aside: ranks can share the samples of one
  std::optional<int64_t> memoryLimitBytes = std::nullopt; // per rank, for what the search counts
  std::string waysToFit = "lower --batch, or use more ranks"; // what an error advises where nothing does
  bool takesClosest = false; // where nothing fits into memory: the plan that needs least, instead of an error
  SearchMethod method;
  /// What the first step of a module takes as a finished program, which may use the module up; fails where it cannot be
  /// made. Where it is given and --parallel leaves the mesh open, it chooses among the plans that cost least: costs know
  /// nothing of fusion, caches, overlap, and of ranks that wait for each other.
  std::function<mlir::FailureOr<StepPrediction>(mlir::ModuleOp planned)> predict = nullptr;
  int64_t arenaLimitBytes = 0; // that a predicted program may use; 0: any
};

/// Chooses a mesh and the layout of every value of every step, and writes them into the module: `partition` can
/// follow. The training step decides (the inference step where there is none); the others take its layouts of
/// parameters, states and inputs, and find the best ones for the rest.
///
/// Emits an error where a rule cannot be kept, or nothing fits into memory (then with the plan that comes closest).
mlir::FailureOr<SearchOutcome> searchLayouts(mlir::ModuleOp module, const SearchRequest &request);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_LAYOUTSEARCH_H
