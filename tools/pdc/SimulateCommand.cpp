//===- SimulateCommand.cpp - pdc simulate EXE|PLAN ------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/machine/ClusterFile.h"
#include "compiler/simulate/ClusterCosts.h"
#include "compiler/simulate/StepReport.h"
#include "compiler/simulate/StepTrace.h"
#include "runtime/base/file_uses.h"
#include "runtime/program/checker.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/ModelFile.h"
#include "tools/pdc/OutputFile.h"
#include "tools/pdc/PlanInput.h"

using namespace pdc;
using namespace pdc::tool;

namespace {

struct Arguments {
  std::string input, cluster, mode, format = "table", output = "-";
};

llvm::Error error(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.c_str());
}

llvm::Expected<program::ExecutableT> readPrograms(const Arguments &arguments) {
  auto payload = readPlan(arguments.input, arguments.cluster);
  if (!payload)
    return payload.takeError();
  auto sections = program::ReadPayload(*payload);
  if (!sections.ok())
    return error(arguments.input + ": " + std::string(sections.status().message()));
  auto section = sections->find(program::kProgramSection);
  if (section == sections->end())
    return error(arguments.input + ": it carries no programs");
  auto read = program::ReadExecutable(section->second);
  // What the checker accepts does not wait for ever, here or there.
  absl::Status status = read.ok() ? program::CheckExecutable(**read) : read.status();
  if (!status.ok())
    return error(arguments.input + ": " + std::string(status.message()));
  program::ExecutableT executable;
  (*read)->UnPackTo(&executable);
  return executable;
}

/// --mode, or training where there is a program for it, else inference.
llvm::Expected<program::Mode> chooseMode(const program::ExecutableT &executable, const Arguments &arguments) {
  std::string has;
  for (program::Mode mode : program::EnumValuesMode()) {
    if (simulate::programsOf(executable, mode).empty())
      continue;
    std::string name(program::ModeName(mode));
    if (arguments.mode.empty() ? mode == program::Mode::kTrain || mode == program::Mode::kInfer
                               : name == arguments.mode)
      return mode;
    has += (has.empty() ? "" : ", ") + name;
  }
  return error("--mode=" + arguments.mode + ": " + arguments.input + " has programs for " + has);
}

int simulateStep(const Arguments &arguments) {
  if (std::string message =
          base::FindOverwrite({{"EXE", arguments.input}, {"--cluster", arguments.cluster}}, {{"-o", arguments.output}});
      !message.empty())
    return fail(message);
  if (!hasAnEnd(arguments.input))
    return 1;
  auto executable = readPrograms(arguments);
  if (!executable)
    return fail(llvm::toString(executable.takeError()));
  auto mode = chooseMode(*executable, arguments);
  if (!mode)
    return fail(llvm::toString(mode.takeError()));
  auto cluster = machine::resolveCluster(arguments.cluster, executable->ranks);
  if (!cluster)
    return fail(llvm::toString(cluster.takeError()));
  auto model = cost::makeCostModel("native", *cluster, executable->threads);
  if (!model)
    return fail(llvm::toString(model.takeError()));

  cost::KernelOperations kernels;
  for (const auto &kernel : executable->kernels)
    if (kernel->operations > 0)
      kernels[kernel->symbol] = kernel->operations;
  auto programs = simulate::programsOf(*executable, *mode);
  simulate::RankSimulation step =
      simulate::simulateRanks(programs, simulate::costsOnCluster(*cluster, **model, kernels, executable->threads));
  simulate::StepTitle title{executable->model, std::string(program::ModeName(*mode)), arguments.cluster,
                            programs.front()->batch};
  std::string text = arguments.format == "trace"  ? simulate::toChromeTrace(step, programs)
                     : arguments.format == "json" ? simulate::toJson(step, title)
                                                  : simulate::toTable(step, title);
  return writeOutput(arguments.output, text);
}

} // namespace

void pdc::tool::addSimulateCommand(CLI::App &app, Action &action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *simulate = app.add_subcommand("simulate", "Runs a step on a described cluster, in simulated time");
  simulate
      ->add_option("EXE", arguments->input,
                   "An executable made by pdc, or a plan that --plan-out wrote")
      ->required();
  simulate
      ->add_option("--cluster", arguments->cluster,
                   "The cluster: a preset or a file, as for compiling (docs/planning.md)")
      ->required();
  simulate
      ->add_option("--mode", arguments->mode, "Which program; train where there is one, else infer")
      ->check(CLI::IsMember({"train", "gradient", "evaluate", "infer", "reference_gradient"}));
  simulate->add_option("--format", arguments->format, "table, json, or trace (Chrome trace JSON, as --trace writes)")
      ->check(CLI::IsMember({"table", "json", "trace"}));
  simulate->add_option("-o,--output", arguments->output, "Where to write; standard output if not given");
  simulate->footer("Examples:\n"
                   "  pdc simulate gpt --cluster=local\n"
                   "  pdc simulate gpt --cluster=dgx_h100 --format=trace -o step.json\n");
  simulate->callback([arguments, &action] { action = [arguments] { return simulateStep(*arguments); }; });
}
