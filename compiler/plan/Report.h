//===- Report.h - the plan of an executable, explained ----------*- C++ -*-===//
//
// The report is JSON, kept in the executable; its keys are a contract (docs/executable.md). The table is made
// from it.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_COMPILER_PLAN_REPORT_H
#define PDC_COMPILER_PLAN_REPORT_H

#include "compiler/cost/InstructionCost.h"
#include "compiler/machine/Cluster.h"
#include "compiler/plan/CommunicationRow.h"
#include "compiler/plan/Exchange.h"
#include "compiler/plan/SearchOutcome.h"
#include "runtime/program/program_generated.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace pdc::plan {

/// How one value lies on the mesh.
struct LayoutRow {
  std::string value;                          // a parameter's or input's name
  std::vector<int64_t> shape;                 // on one device
  std::vector<int64_t> declaredShape;         // in the model, where it is another one of the same elements
  std::vector<std::string> dimensionNames;    // as declared in the model; empty strings where there are none
  std::vector<std::vector<std::string>> axes; // per dimension, the mesh axes that split it
  std::vector<int64_t> blocks;                // per dimension, of how many elements a part is a multiple
  std::vector<std::string> partialAxes;       // over which it is a sum that is not added up
  std::vector<int64_t> stages;                // that lay it out so; empty: all that have it
};

/// The ranks of one stage as a mesh, the last axis the fastest.
struct StageMesh {
  std::vector<std::string> axes;
  std::vector<int64_t> sizes;
};

struct ReportInput {
  const program::ExecutableT &executable;
  ParallelSpec parallel;
  int64_t batch;
  std::vector<LayoutRow> layouts;
  std::vector<CommunicationRow> communication; // that the plan asks for
  std::vector<std::string> meshAxes; // the last one the fastest
  std::vector<int64_t> meshSizes;
  std::optional<SearchOutcome> search; // none: the plan was given
  machine::Cluster cluster;
  cost::KernelOperations kernelOperations;
  int64_t microBatches = 1;
  std::string schedule = "none";
  std::vector<std::string> recompute{};  // per stage, what its backward pass computes again
  std::vector<int64_t> stageRanks{};     // how many each stage has; empty: one stage of all
  std::vector<StageMesh> stageMeshes{};   // where they are not alike
  std::optional<Exchange> exchange{};     // where there was a choice
  std::vector<LayoutRow> optimizerLayouts{}; // of what the optimizer keeps: "optimizer.m.fc1.weight"
};

llvm::json::Object buildReport(const ReportInput &input);

/// Sets the time that the search took, which no two runs share, to 0: the report that an executable carries, so that one
/// model with one set of options gives one file.
void forgetSearchTime(llvm::json::Object &report);

/// For a person: ranks, memory by kind, collectives with their bytes, layouts, predictions.
void printTable(const llvm::json::Object &report, llvm::raw_ostream &os);

/// One HTML page that needs nothing else: no scripts, no other files.
void printHtml(const llvm::json::Object &report, llvm::raw_ostream &os);

/// One line for each decision, with its runner-up and what that would cost, for each time that ranks communicate,
/// with what caused it, for the search with its gap, and for the memory of each rank.
void printRemarks(const llvm::json::Object &report, llvm::raw_ostream &os);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_REPORT_H
