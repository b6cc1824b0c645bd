//===- search_bench.cpp - how long plans are searched for, and how good they are ===//
//
// From the root of the repository:
//
//   search_bench speed             seconds of processor time: GPT-2 medium on 64 devices; GPT-3 175B on 1,024, with 12
//                                  to 96 of its layers
//   search_bench gaps [MODEL...]   for each model on 8 and 64 devices what the search proves
//   search_bench mcmc [MODEL...]   for each model on 8 and 64 devices what 100,000 random proposals find instead
//   search_bench stages            the search for stages, too: GPT-2 medium on 8 devices, GPT-3 175B on 1,024, in bf16
//
// Devices are those of --cluster. The time of a search is that of all its meshes and steps, without the passes that make
// the steps; run it alone on a core (taskset) to have that of one core.
//
//===----------------------------------------------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/Compare.h"
#include "compiler/pipeline/Compiler.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <ctime>

using namespace pdc;

namespace {

// A published time to search for a plan: Zheng et al. 2022, table 5, GPT of 39B parameters on 64 GPUs.
constexpr double kAlpaSeconds = 2393;

const std::vector<std::string> kModels = {"mlp",         "lenet",     "alexnet",   "vgg16",    "resnet_tiny",
                                          "resnet50",    "vit_base",  "bert_tiny", "bert_base", "gpt_tiny",
                                          "moe_tiny",    "gpt2_small", "gpt2_medium", "gpt3_175b"};

double processorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Task {
  std::string model; // of models/
  int64_t batch = 64;
  int64_t devices = 8;
  std::string cluster = "dgx_h100"; // a preset with 8 devices a node
  std::string search = "exact";
  int layers = 0; // instead of the model's; 0: those
  int64_t memoryLimitBytes = 0;
  std::string parallel = "layouts"; // as --parallel says it
  std::string precision = "f32";
};

struct Result {
  plan::SearchOutcome outcome;
  double seconds = 0;       // of processor time, of the search
  double phaseSeconds = 0;  // of the passes before it
};

std::optional<Result> complain(const Task &task, const std::string &why) {
  llvm::errs() << task.model << ": " << why << "\n";
  return std::nullopt;
}

std::optional<Result> search(const Task &task) {
  auto cluster =
      machine::resolveCluster(task.cluster + ":nodes=" + std::to_string(std::max<int64_t>(1, task.devices / 8)));
  if (!cluster)
    return complain(task, llvm::toString(cluster.takeError()));
  auto buffer = llvm::MemoryBuffer::getFile("models/" + task.model + ".mlir");
  if (!buffer)
    return complain(task, buffer.getError().message());
  std::string text = (*buffer)->getBuffer().str();
  if (task.layers > 0) {
    size_t begin = text.find("nn.repeat ") + 10, end = text.find(' ', begin);
    text.replace(begin, end - begin, std::to_string(task.layers));
  }
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  pipeline::CompileOptions options;
  options.batch = task.batch;
  options.ranks = cluster->rankCount();
  options.cluster = std::move(*cluster);
  options.search = task.search;
  options.memoryLimitBytes = task.memoryLimitBytes;
  options.precision = task.precision;
  auto plan = [&](const std::vector<std::string> &presets, double &seconds) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    double begin = processorSeconds();
    llvm::FailureOr<std::vector<pipeline::ComparedPlan>> rows = mlir::failure();
    if (module)
      rows = pipeline::comparePlans(*module, options, presets);
    seconds = processorSeconds() - begin;
    return rows;
  };
  Result result;
  double all = 0;
  if (failed(plan({}, result.phaseSeconds)))
    return complain(task, "the model cannot be planned");
  auto rows = plan({task.parallel}, all);
  if (failed(rows))
    return complain(task, "the model cannot be planned");
  if (!rows->front().outcome)
    return complain(task, rows->front().why);
  result.outcome = *rows->front().outcome;
  result.seconds = all - result.phaseSeconds;
  return result;
}

std::string meshOf(const plan::SearchOutcome &outcome) {
  std::string text;
  for (auto [axis, size] : llvm::zip(outcome.meshAxes, outcome.meshSizes))
    text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
  return text;
}

bool benchSpeed(Task task) {
  struct Row {
    const char *model;
    int layers;
    int64_t batch, devices;
  };
  bool isComplete = true;
  double perLayer = 0;
  std::printf("%-12s %6s %8s %10s %10s %14s %10s  %s\n", "model", "layers", "devices", "search s", "passes s",
              "Alpa / search", "s a layer", "mesh");
  for (const Row &row : {Row{"gpt2_medium", 24, 64, 64}, Row{"gpt3_175b", 12, 1536, 1024},
                         Row{"gpt3_175b", 24, 1536, 1024}, Row{"gpt3_175b", 48, 1536, 1024},
                         Row{"gpt3_175b", 96, 1536, 1024}}) {
    task.model = row.model;
    task.layers = row.layers;
    task.batch = row.batch;
    task.devices = row.devices;
    std::optional<Result> result = search(task);
    isComplete &= result.has_value();
    if (!result)
      continue;
    double before = perLayer;
    perLayer = result->seconds / row.layers;
    std::printf("%-12s %6d %8lld %10.3f %10.3f %14.0f %10.4f  %s", row.model, row.layers,
                static_cast<long long>(row.devices), result->seconds, result->phaseSeconds,
                kAlpaSeconds / result->seconds, perLayer, meshOf(result->outcome).c_str());
    if (row.devices == 1024 && row.layers > 12)
      std::printf("  (%.2f of that with half the layers)", perLayer / before);
    std::printf("\n");
    std::fflush(stdout);
  }
  return isComplete;
}

/// Data x tensor x pipeline x ZeRO x micro-batches x schedule x recomputation, and layouts.
bool benchStages(Task task) {
  struct Row {
    const char *model;
    int64_t batch, devices;
    const char *parallel;
    int64_t memoryLimitBytes; // 0: none. With one, what stages compute again is searched as well
    double mostSeconds;
  };
  bool isGood = true;
  task.precision = "bf16";
  std::printf("%-12s %8s %-46s %9s %10s %10s %12s %8s  %s\n", "model", "devices", "parallel", "limit GB", "search s", "passes s",
              "step s", "gap %", "found");
  // Without a search over meshes of two axes for the whole batch, which --parallel=auto makes besides.
  const char *all = "pipeline=auto,data=auto,tensor=auto,zero=auto";
  for (const Row &row : {Row{"gpt2_medium", 32, 8, "auto", 0, 3}, Row{"gpt2_medium", 32, 8, all, 0, 3},
                         Row{"gpt2_medium", 32, 8, all, 2'000'000'000, 3}, Row{"gpt3_175b", 1536, 1024, all, 0, 30},
                         Row{"gpt3_175b", 1536, 1024, all, 80'000'000'000, 30},
                         Row{"gpt3_175b", 1536, 1024, all, 20'000'000'000, 30}}) {
    task.model = row.model;
    task.batch = row.batch;
    task.devices = row.devices;
    task.parallel = row.parallel;
    task.memoryLimitBytes = row.memoryLimitBytes;
    std::optional<Result> result = search(task);
    isGood &= result && result->seconds <= row.mostSeconds;
    if (!result)
      continue;
    const plan::SearchOutcome &found = result->outcome;
    std::printf("%-12s %8lld %-46s %9.3g %10.3f %10.3f %12.6g %8.2f  %s, %lld micro-batches, %s\n", row.model,
                static_cast<long long>(row.devices), row.parallel, static_cast<double>(row.memoryLimitBytes) / 1e9, result->seconds, result->phaseSeconds,
                found.stepSeconds, 100 * found.gap, meshOf(found).c_str(), static_cast<long long>(found.microBatches),
                found.schedule.c_str());
    std::fflush(stdout);
  }
  return isGood;
}

/// Whether `isGood` holds for each model on each number of devices; all are run.
bool forEach(Task task, const std::vector<std::string> &models, const std::vector<int64_t> &deviceCounts,
             llvm::function_ref<bool(const Task &)> isGood) {
  bool areGood = true;
  for (const std::string &model : models)
    for (int64_t devices : deviceCounts) {
      task.model = model;
      task.devices = devices;
      areGood &= isGood(task);
    }
  return areGood;
}

/// What is proved, and whether the gap is at most 1 %.
bool proveGap(const Task &task) {
  std::optional<Result> result = search(task);
  if (!result)
    return false;
  const plan::SearchOutcome &found = result->outcome;
  std::printf("%-12s %8lld %14.6g %14.6g %10.3g %10.3f  %s\n", task.model.c_str(), static_cast<long long>(task.devices),
              found.stepSeconds, found.lowerBoundSeconds, 100 * found.gap, result->seconds, meshOf(found).c_str());
  std::fflush(stdout);
  return found.gap <= 0.01;
}

bool benchGaps(const Task &task, const std::vector<std::string> &models, const std::vector<int64_t> &deviceCounts) {
  std::printf("%-12s %8s %14s %14s %10s %10s  %s\n", "model", "devices", "plan s", "bound s", "gap %", "search s",
              "mesh");
  return forEach(task, models, deviceCounts, proveGap);
}

/// What is found exactly and at random, and whether the first is never worse.
bool compareMcmc(Task task) {
  task.search = "exact";
  std::optional<Result> exact = search(task);
  task.search = "mcmc:proposals=100000";
  std::optional<Result> random = search(task);
  if (!exact || !random)
    return false;
  double ratio = random->outcome.stepSeconds / exact->outcome.stepSeconds;
  std::printf("%-12s %8lld %14.6g %14.6g %12.4f %10.3f %10.3f\n", task.model.c_str(), static_cast<long long>(task.devices),
              exact->outcome.stepSeconds, random->outcome.stepSeconds, ratio, exact->seconds, random->seconds);
  std::fflush(stdout);
  // Sums in another order may differ in their last bits.
  return ratio >= 1 - 1e-12;
}

bool benchMcmc(const Task &task, const std::vector<std::string> &models, const std::vector<int64_t> &deviceCounts) {
  std::printf("%-12s %8s %14s %14s %12s %10s %10s\n", "model", "devices", "exact s", "MCMC s", "MCMC / exact", "search s",
              "MCMC took s");
  return forEach(task, models, deviceCounts, compareMcmc);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("How long plans are searched for, and how good they are");
  app.require_subcommand(1);
  Task task;
  std::vector<std::string> models;
  std::vector<int64_t> deviceCounts = {8, 64};
  app.add_option("--cluster", task.cluster, "A preset with 8 devices a node")->capture_default_str();
  app.add_option("--batch", task.batch, "Samples of a step, where models are compared")->capture_default_str();
  app.add_option("--memory-limit", task.memoryLimitBytes, "Bytes that a rank may use")
      ->transform(CLI::AsSizeValue(false));
  CLI::App *speed = app.add_subcommand("speed", "Seconds of processor time");
  CLI::App *gaps = app.add_subcommand("gaps", "What is proved; fails where a gap is above 1 %");
  CLI::App *stages = app.add_subcommand("stages", "The search for stages; fails where it takes longer than it should");
  CLI::App *mcmc = app.add_subcommand("mcmc", "What random proposals find; fails where that is better");
  for (CLI::App *command : {gaps, mcmc}) {
    command->add_option("MODEL", models, "Of models/; all that are compared if not given");
    command->add_option("--devices", deviceCounts, "Of the cluster")->delimiter(',')->capture_default_str();
  }
  CLI11_PARSE(app, argc, argv);
  if (models.empty())
    models = kModels;
  bool isGood = speed->parsed()    ? benchSpeed(task)
                : stages->parsed() ? benchStages(task)
                : gaps->parsed() ? benchGaps(task, models, deviceCounts)
                                 : benchMcmc(task, models, deviceCounts);
  return isGood ? 0 : 1;
}
