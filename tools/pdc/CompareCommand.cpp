//===- CompareCommand.cpp - pdc compare MODEL -----------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/Compare.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/plan/ReportText.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/base/number_checks.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/ModelFile.h"
#include "tools/pdc/OutputFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace pdc;
using namespace pdc::tool;

namespace {

const std::vector<std::string> kPresets = {"data", "zero1", "zero2", "zero3", "tensor", "auto"};

struct Arguments {
  std::string model, cluster = "local", format = "table";
  int64_t batch = 0, ranks = 0;
  uint64_t memoryLimit = 0;
  pipeline::CompileOptions options;
};

llvm::json::Array toJson(const std::vector<pipeline::ComparedPlan> &rows) {
  llvm::json::Array array;
  for (const pipeline::ComparedPlan &row : rows) {
    if (!row.outcome) {
      array.push_back(llvm::json::Object{{"parallel", row.preset}, {"error", row.why}});
      continue;
    }
    const plan::SearchOutcome &found = *row.outcome;
    llvm::json::Object mesh;
    for (size_t i = 0; i < found.meshAxes.size(); ++i)
      mesh[found.meshAxes[i]] = found.meshSizes[i];
    array.push_back(llvm::json::Object{{"parallel", row.preset},
                                       {"data", found.parallel.data},
                                       {"tensor", found.parallel.tensor},
                                       {"pipeline", found.parallel.pipeline},
                                       {"zero", found.parallel.zero},
                                       {"mesh", std::move(mesh)},
                                       {"micro_batches", found.microBatches},
                                       {"schedule", found.schedule},
                                       {"step_time", found.stepSeconds},
                                       {"compute_time", found.computeSeconds},
                                       {"comm_time", found.stepSeconds - found.computeSeconds},
                                       {"memory", found.bytes},
                                       {"search_time", found.seconds},
                                       {"lower_bound", found.lowerBoundSeconds},
                                       {"gap", found.gap}});
  }
  return array;
}

/// What the ranks do, as the head of 'pdc plan' says it; the names of a mesh's axes would not.
std::string splitText(const plan::SearchOutcome &found) {
  const plan::ParallelSpec &parallel = found.parallel;
  std::string text = "data " + std::to_string(parallel.data) + ", tensor " + std::to_string(parallel.tensor);
  if (parallel.pipeline > 1) {
    text += ", pipeline ";
    if (parallel.stages.empty())
      text += std::to_string(parallel.pipeline);
    for (size_t stage = 0; stage < parallel.stages.size(); ++stage)
      text += (stage ? ":" : "") + std::to_string(parallel.stages[stage].ranksOfStage());
  }
  if (parallel.zero > 0)
    text += ", ZeRO " + std::to_string(parallel.zero);
  if (found.microBatches > 1)
    text += ", m=" + std::to_string(found.microBatches);
  if (found.schedule != "none" && found.schedule != "accumulation")
    text += ", " + found.schedule;
  return text;
}

void printTable(const std::vector<pipeline::ComparedPlan> &rows, llvm::raw_ostream &os) {
  os << llvm::format("%-8s %-42s %12s %12s %12s %12s %12s\n", "parallel", "split", "step", "compute", "comm", "memory",
                     "search");
  for (const pipeline::ComparedPlan &row : rows) {
    os << llvm::format("%-8s ", row.preset.c_str());
    if (!row.outcome) {
      os << row.why << "\n";
      continue;
    }
    const plan::SearchOutcome &found = *row.outcome;
    os << llvm::format("%-42s", splitText(found).c_str());
    for (double seconds : {found.stepSeconds, found.computeSeconds, found.stepSeconds - found.computeSeconds})
      os << llvm::format(" %12s", plan::secondsText(seconds).c_str());
    os << llvm::format(" %12s %12s\n", plan::bytesText(static_cast<double>(found.bytes)).c_str(),
                       plan::secondsText(found.seconds).c_str());
  }
}

int compare(Arguments &arguments) {
  pipeline::CompileOptions &options = arguments.options;
  auto cluster = machine::resolveCluster(arguments.cluster, arguments.ranks);
  if (!cluster)
    return fail(llvm::toString(cluster.takeError()));
  options.cluster = std::move(*cluster);
  options.ranks = options.cluster->rankCount();
  if (options.ranks < 2)
    return fail("one rank leaves nothing to compare: give --ranks or --cluster");
  if (arguments.batch > 0)
    options.batch = arguments.batch;
  options.memoryLimitBytes = static_cast<int64_t>(arguments.memoryLimit);
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context, llvm::errs());
  mlir::OwningOpRef<mlir::ModuleOp> module = parseModel(arguments.model, sources, context);
  if (!module)
    return 1;
  auto rows = pipeline::comparePlans(*module, options, kPresets);
  if (mlir::failed(rows))
    return 1;
  std::string text;
  llvm::raw_string_ostream os(text);
  if (arguments.format == "json")
    os << llvm::formatv("{0:2}", llvm::json::Value(toJson(*rows))) << "\n";
  else
    printTable(*rows, os);
  if (int code = writeOutput("-", text))
    return code;
  if (llvm::none_of(*rows, [](const pipeline::ComparedPlan &row) { return row.outcome.has_value(); }))
    return fail("no preset has a plan; each row says why");
  return 0;
}

} // namespace

void pdc::tool::addCompareCommand(CLI::App &app, Action &action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand("compare", "Every preset side by side on one cluster");
  command->add_option("MODEL", arguments->model, "The model")->required();
  command->add_option("--batch", arguments->batch, "Samples of a step, over all ranks")
      ->check(base::Positive());
  command->add_option("--cluster", arguments->cluster, "A preset or a cluster file (docs/planning.md)")
      ->capture_default_str();
  command->add_option("--ranks", arguments->ranks, "Ranks; all devices of the cluster if not given")
      ->check(base::Between(1, 65536));
  command->add_option("--precision", arguments->options.precision, "f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  command->add_option("--optimizer", arguments->options.optimizer, "How parameters move")
      ->check(CLI::IsMember({"sgd", "momentum", "adam", "adamw", "lars", "lamb"}))
      ->capture_default_str();
  command->add_option("--memory-limit", arguments->memoryLimit, "Bytes that a rank may use")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--format", arguments->format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command->footer("Every row is the best plan within a preset. Its times are those of the search: of all ops and "
                  "collectives after each\n"
                  "other, without overlap, so that a finished executable ('pdc plan') is predicted "
                  "otherwise.\n\n"
                  "Examples:\n"
                  "  pdc compare models/gpt_tiny.mlir --batch=16 --ranks=4\n"
                  "  pdc compare models/gpt2_small.mlir --batch=32 --cluster=dgx_h100:nodes=1 --precision=bf16\n");
  command->callback([arguments, &action] { action = [arguments] { return compare(*arguments); }; });
}
