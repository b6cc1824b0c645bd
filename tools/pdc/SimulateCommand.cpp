//===- SimulateCommand.cpp - pdc simulate EXE|PLAN ------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/codegen/executable/ExecutableWriter.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/ParseModule.h"
#include "compiler/pipeline/PlanFile.h"
#include "compiler/simulate/ClusterCosts.h"
#include "compiler/simulate/StepReport.h"
#include "compiler/simulate/StepTrace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/base/file_uses.h"
#include "runtime/kernels/library.h"
#include "runtime/program/checker.h"
#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/ModelFile.h"
#include "tools/pdc/OutputFile.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace pdc;
using namespace pdc::tool;

namespace {

struct Arguments {
  std::string input, cluster, mode, format = "table", output = "-";
};

llvm::Error error(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), "%s", message.c_str());
}

/// Keeps the first error of a context, to be told in one line.
class FirstError {
public:
  explicit FirstError(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error || !text.empty())
            return mlir::success();
          text = diagnostic.str();
          if (auto place = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
            line = std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn()) + ": ";
          return mlir::success();
        }) {}

  std::string text, line; // "3:1: "

private:
  mlir::ScopedDiagnosticHandler handler;
};

/// Compiles a plan file as far as programs, for the cluster that it is to be simulated on.
llvm::Expected<std::string> payloadOfPlan(llvm::StringRef text, const Arguments &arguments) {
  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  FirstError first(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, arguments.input), llvm::SMLoc());
  auto plan = pipeline::parseModule(sources, &context);
  if (!plan)
    return error(arguments.input + ": is neither an executable nor a plan (" + first.line + first.text + ")");
  auto ranks = pipeline::ranksOfPlan(*plan);
  if (mlir::failed(ranks))
    return error(arguments.input + ":" + first.line + first.text);
  pipeline::CompileOptions options;
  options.ranks = *ranks;
  options.plan = text.str();
  options.planName = arguments.input;
  auto cluster = machine::resolveCluster(arguments.cluster, *ranks);
  if (!cluster)
    return cluster.takeError();
  options.cluster = std::move(*cluster);
  options.workspaceBytes = [](const program::InstructionT &instruction,
                              int threads) -> llvm::Expected<int64_t> {
    auto bytes = kernels::WorkspaceBytes(instruction, threads);
    if (bytes.ok())
      return *bytes;
    return error(std::string(bytes.status().message()));
  };
  auto compiled = pipeline::compileFrom(*plan, options, pipeline::Phase::Plan);
  if (mlir::failed(compiled))
    return error(arguments.input + ":" + first.line + first.text);
  return std::move(compiled->payload);
}

llvm::Expected<std::string> readPayload(const Arguments &arguments) {
  auto file = llvm::MemoryBuffer::getFile(arguments.input);
  if (!file)
    return error(arguments.input + ": " + file.getError().message());
  if ((*file)->getBuffer().starts_with(llvm::ELF::ElfMagic))
    return codegen::readPayloadOfExecutable(arguments.input);
  return payloadOfPlan((*file)->getBuffer(), arguments);
}

llvm::Expected<program::ExecutableT> readPrograms(const Arguments &arguments) {
  auto payload = readPayload(arguments);
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
