//===- CompileCommand.cpp - pdc MODEL -o EXE ------------------------------===//

#include "CLI/CLI.hpp"
#include "compiler/codegen/executable/ExecutableWriter.h"
#include "compiler/cost/CostModel.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/machine/ir/ClusterAttr.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/pipeline/PlanFile.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "compiler/plan/search/SearchMethod.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "runtime/base/file_uses.h"
#include "runtime/base/number_checks.h"
#include "runtime/kernels/library.h"
#include "tools/pdc/Commands.h"
#include "tools/pdc/ModelFile.h"
#include "tools/pdc/OutputFile.h"
#include "tools/pdc/SearchCheck.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"

using namespace pdc;
using namespace pdc::tool;

namespace {

/// Everything that the command line can say about a compilation, as it was said.
struct Arguments {
  std::string model, output, to, parallel = "auto", mode = "train", backend = "cpu", reportPath;
  std::string cluster;
  int64_t batch = 0;
  std::optional<int64_t> ranks;
  uint64_t memoryLimit = 0, bucketBytes = 25'000'000;
  pipeline::CompileOptions options;
  std::string layout, planIn, planOut;
  std::string microBatches, recompute;
};

/// The first option that asks for what this version cannot do.
std::string unsupported(const Arguments &arguments) {
  auto given = [](const char *option, const std::string &value) {
    return value.empty() ? "" : std::string(option) + "=" + value + " is not supported yet";
  };
  if (arguments.backend != "cpu")
    return given("--backend", arguments.backend) + ": this version makes executables for CPUs";
  return "";
}

int printPhase(mlir::ModuleOp module, const Arguments &arguments, pipeline::Phase phase) {
  std::string text;
  if (phase == pipeline::Phase::Program) {
    auto compiled = pipeline::compile(module, arguments.options);
    if (mlir::failed(compiled))
      return 1;
    auto description = pipeline::describeProgram(*compiled);
    if (mlir::failed(description))
      return 1;
    text = *description;
  } else {
    if (mlir::failed(pipeline::runPhases(module, arguments.options, phase)))
      return 1;
    llvm::raw_string_ostream os(text);
    module.print(os, mlir::OpPrintingFlags().elideLargeElementsAttrs(64));
  }
  return writeOutput(arguments.output.empty() ? "-" : arguments.output, text + "\n");
}

/// --cluster and --ranks: without --ranks, a rank on every device of the cluster. A plan that was read may have a cluster.
llvm::Error chooseRanks(Arguments &arguments) {
  pipeline::CompileOptions &options = arguments.options;
  options.ranks = arguments.ranks.value_or(1);
  if (arguments.cluster.empty() && options.cluster)
    return machine::withRanks(*options.cluster, options.ranks).moveInto(*options.cluster);
  if (arguments.cluster.empty())
    return llvm::Error::success();
  auto cluster = machine::resolveCluster(arguments.cluster, arguments.ranks.value_or(0));
  if (!cluster)
    return cluster.takeError();
  options.ranks = cluster->rankCount();
  options.cluster = std::move(*cluster);
  return llvm::Error::success();
}

/// What a search for stages can take as given.
bool checkSearch(const pipeline::CompileOptions &options) {
  if (!pipeline::isSearchedSchedule(options.schedule))
    return fail("--schedule=" + options.schedule +
                " is not searched for: give all of --parallel=pipeline=P,... and --micro-batches as numbers, or "
                "--schedule=auto, 1f1b, gpipe, zb or interleaved[:chunks=N]"),
           false;
  return true;
}

/// The schedule of a pipeline that is given, checked.
bool nameSchedule(Arguments &arguments) {
  pipeline::CompileOptions &options = arguments.options;
  if (options.parallel.pipeline == 1 && !options.schedule.empty() && options.schedule != "accumulation")
    return fail("--schedule=" + options.schedule + " is of a pipeline: give --parallel=pipeline=P"), false;
  // A preset that is a pipeline is the schedule's name.
  if (options.parallel.pipeline > 1 && arguments.parallel.find('=') == std::string::npos) {
    if (!options.schedule.empty() && llvm::StringRef(options.schedule).split(':').first != arguments.parallel)
      return fail("--parallel=" + arguments.parallel + " and --schedule=" + options.schedule +
                  " name two schedules; with --schedule, give --parallel=pipeline=P"),
             false;
    if (options.schedule.empty())
      options.schedule = arguments.parallel;
  }
  auto schedule = pipeline::makeTaskSchedule(options);
  if (!schedule)
    return fail(llvm::toString(schedule.takeError())), false;
  return true;
}

/// --recompute=full, or a word for each stage. Of how many stages a search decides, one word can be said.
bool readRecompute(Arguments &arguments) {
  pipeline::CompileOptions &options = arguments.options;
  // Part of all that is searched. Nothing need be computed again where memory is not limited.
  if (arguments.recompute.empty() || arguments.recompute == "auto") {
    bool isAsked = !arguments.recompute.empty() || arguments.parallel == "auto" || options.searchesPipeline();
    bool isStated = arguments.recompute.empty() && !options.plan.empty();
    options.searchesRecompute = isAsked && !isStated && options.memoryLimitBytes > 0 && options.mode == pipeline::Mode::Train;
    return true;
  }
  llvm::SmallVector<llvm::StringRef> words;
  llvm::StringRef(arguments.recompute).split(words, ',');
  for (llvm::StringRef word : words) {
    std::optional<dist::Recompute> recompute = dist::parseRecompute(word);
    if (!recompute)
      return fail("--recompute=" + arguments.recompute + ": expected none, full" +
                  (words.size() == 1 ? ", selective or auto" : " or selective for each stage") + ", found '" + word.str() + "'"),
             false;
    options.recompute.push_back(*recompute);
  }
  bool isKnown = !options.searchesStages() && options.plan.empty();
  if (isKnown && words.size() > 1 && static_cast<int64_t>(words.size()) != options.parallel.pipeline)
    return fail("--recompute=" + arguments.recompute + " has " + std::to_string(words.size()) + " words, for " +
                std::to_string(options.parallel.pipeline) + (options.parallel.pipeline == 1 ? " stage" : " stages") +
                ": expected one word for all of them, or one for each"),
           false;
  return true;
}

/// Whether what is asked for of a pipeline is what the plan states, where it states one.
bool saysTheSame(const Arguments &arguments, mlir::ModuleOp plan) {
  auto check = [&](const char *option, std::string asked, std::string stated) {
    if (asked.empty() || asked == stated)
      return true;
    std::string has = stated.empty() ? "no pipeline" : stated;
    return fail("--plan-in=" + arguments.planIn + " states the plan: " + option + "=" + asked + ", but it has " + has), false;
  };
  auto microBatches = plan->getAttrOfType<mlir::IntegerAttr>(dist::kMicroBatchesAttr);
  auto schedule = plan->getAttrOfType<mlir::StringAttr>(dist::kScheduleAttr);
  // What is left open the plan decides.
  auto fullName = [&](std::string name) {
    llvm::StringRef setting = llvm::StringRef(name).split(':').second;
    if (pipeline::leavesTurnsOpen(arguments.options.schedule) && (setting == "round-robin" || setting == "split"))
      return llvm::StringRef(name).split(':').first.str();
    return name == "zb" ? "zb-h1" : name;
  };
  return (!microBatches || check("--micro-batches", arguments.microBatches, std::to_string(microBatches.getInt()))) &&
         check("--schedule", fullName(arguments.options.schedule), schedule ? fullName(schedule.str()) : "");
}

/// What the plan is made for and by. False after an error was told.
bool readPlanning(Arguments &arguments) {
  pipeline::CompileOptions &options = arguments.options;
  auto tell = [](llvm::Error error) {
    fail(llvm::toString(std::move(error)));
    return false;
  };
  bool hasOwnMesh = llvm::StringRef(options.search).split(':').first == "random";
  bool leavesAllOpen = arguments.parallel == "auto" || arguments.parallel == "layouts";
  if (hasOwnMesh && (!leavesAllOpen || !arguments.layout.empty()))
    return fail("--search=" + options.search +
                " takes any mesh and any layouts: --parallel and --layout have nothing to say beside it"),
           false;
  if (!arguments.planIn.empty()) {
    if (options.search != "exact")
      return fail("--plan-in states the plan: --search=" + options.search + " has nothing to look for beside it"), false;
    if (arguments.parallel != "auto" || !arguments.layout.empty())
      return fail("--plan-in states the plan: --parallel and --layout have nothing to say beside it"), false;
    if (!hasAnEnd(arguments.planIn))
      return false;
    std::string error;
    auto file = mlir::openInputFile(arguments.planIn, &error);
    if (!file)
      return fail(error), false;
    options.plan = file->getBuffer().str();
    options.planName = arguments.planIn;
    if (options.plan.find('\0') != std::string::npos)
      return fail("--plan-in=" + arguments.planIn + " is no text: expected a plan that --plan-out wrote"), false;
    mlir::DialectRegistry registry;
    pipeline::registerDialects(registry);
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.printOpOnDiagnostic(false); // as where it is compiled, below
    auto plan = pipeline::parsePlan(options.plan, options.planName, &context);
    if (!plan)
      return false;
    mlir::ScopedDiagnosticHandler teller(&context, [&](mlir::Diagnostic &diagnostic) {
      fail("--plan-in=" + arguments.planIn + ": " + diagnostic.str());
      return mlir::success();
    });
    auto ranks = pipeline::ranksOfPlan(*plan);
    if (mlir::failed(ranks) || !saysTheSame(arguments, *plan))
      return false;
    if (arguments.ranks && *arguments.ranks != *ranks)
      return fail("--ranks=" + std::to_string(*arguments.ranks) + ", but the plan " + arguments.planIn +
                  " is for " + std::to_string(*ranks) + " ranks"),
             false;
    arguments.ranks = *ranks;
    if (llvm::Error error = machine::getCluster(*plan).moveInto(options.cluster))
      return tell(std::move(error));
  }
  if (llvm::Error error = chooseRanks(arguments))
    return tell(std::move(error));
  auto parallel = plan::parseParallelSpec(arguments.parallel, options.ranks);
  if (!parallel)
    return tell(parallel.takeError());
  options.parallel = *parallel;
  // One rank has micro-batches to choose where memory is limited, and no others.
  if (arguments.parallel == "auto" && options.memoryLimitBytes > 0)
    options.parallel.searchesStages = true;
  options.searchesMicroBatches = arguments.microBatches == "auto";
  if (!arguments.microBatches.empty() && !options.searchesMicroBatches)
    options.microBatches = std::stoll(arguments.microBatches);
  // A plan was compared with what is asked for.
  if (options.plan.empty() && (options.searchesStages() ? !checkSearch(options) : !nameSchedule(arguments)))
    return false;
  if (!readRecompute(arguments))
    return false;
  options.keepsPlan = !arguments.planOut.empty() || arguments.to == "plan"; // what is printed can be read again, too
  // Here, so that a word that is none is told before the model is read.
  if (auto method = plan::makeSearchMethod(options.search); !method)
    return tell(method.takeError());
  if (auto costs = cost::makeCostModel(options.costModel, machine::local(), options.threads); !costs)
    return tell(costs.takeError());
  if (!arguments.layout.empty()) {
    auto rules = plan::parseLayoutRules(arguments.layout);
    if (!rules)
      return tell(rules.takeError());
    options.layoutRules = std::move(*rules);
  }
  if (std::string message = misplacedSearch(options, arguments.parallel); options.plan.empty() && !message.empty())
    return fail(message), false;
  return true;
}

int compile(Arguments &arguments) {
  if (std::string message = unsupported(arguments); !message.empty())
    return fail(message);
  pipeline::Phase last = pipeline::Phase::Program;
  if (!arguments.to.empty()) {
    auto phase = pipeline::parsePhase(arguments.to);
    if (!phase) {
      std::string names;
      for (const auto &description : pipeline::kPhases)
        names += std::string(names.empty() ? "" : ", ") + description.name;
      return fail("--to=" + arguments.to + ": there is no such phase; the phases are " + names);
    }
    last = *phase;
    for (auto [option, path] : {std::pair("--report", &arguments.reportPath), {"--plan-out", &arguments.planOut}})
      if (!path->empty())
        return fail(std::string(option) + " is written beside an executable, which --to=" + arguments.to +
                    " does not make: give -o EXECUTABLE without --to");
  } else if (arguments.output.empty()) {
    return fail("no output: give -o EXECUTABLE, or --to=PHASE to see a phase");
  }

  if (std::string message = base::FindOverwrite(
          {{"MODEL", arguments.model}, {"--plan-in", arguments.planIn}, {"--cluster", arguments.cluster}},
          {{"-o", arguments.output}, {"--report", arguments.reportPath}, {"--plan-out", arguments.planOut}});
      !message.empty())
    return fail(message);

  pipeline::CompileOptions &options = arguments.options;
  if (arguments.batch > 0)
    options.batch = arguments.batch;
  options.mode = arguments.mode == "infer" ? pipeline::Mode::Infer : pipeline::Mode::Train;
  options.bucketBytes = static_cast<int64_t>(arguments.bucketBytes);
  options.memoryLimitBytes = static_cast<int64_t>(arguments.memoryLimit);
  if (!readPlanning(arguments))
    return 1;
  options.workspaceBytes = [](const program::InstructionT &instruction,
                              int threads) -> llvm::Expected<int64_t> {
    auto bytes = kernels::WorkspaceBytes(instruction, threads);
    if (bytes.ok())
      return *bytes;
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   std::string(bytes.status().message()).c_str());
  };

  mlir::DialectRegistry registry;
  pipeline::registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  // The line of the model says where; the whole op in its generic form would bury it.
  context.printOpOnDiagnostic(false);
  llvm::SourceMgr sources;
  mlir::SourceMgrDiagnosticHandler diagnostics(sources, &context, llvm::errs());
  mlir::OwningOpRef<mlir::ModuleOp> module = parseModel(arguments.model, sources, context);
  if (!module)
    return 1;
  if (!arguments.to.empty())
    return printPhase(*module, arguments, last);

  auto compiled = pipeline::compile(*module, options);
  if (mlir::failed(compiled))
    return 1;
  // First what is asked for beside the executable: where that fails, there is no executable either.
  if (!arguments.reportPath.empty() && writeOutput(arguments.reportPath, compiled->report + "\n") != 0)
    return 1;
  if (!arguments.planOut.empty() && writeOutput(arguments.planOut, compiled->plan + "\n") != 0)
    return 1;
  if (llvm::Error error = codegen::writeExecutable(embeddedLauncher(), compiled->payload, arguments.output))
    return fail(llvm::toString(std::move(error)));
  return 0;
}

} // namespace

void pdc::tool::addCompileCommand(CLI::App &app, Action &action) {
  auto arguments = std::make_shared<Arguments>();
  Arguments &a = *arguments;
  pipeline::CompileOptions &o = a.options;

  CLI::Option *model =
      app.add_option("MODEL", a.model, "The model, MLIR text in the nn dialect (docs/tutorial.md)");
  app.add_option("-o,--output", a.output, "The executable to write; with --to, a text file");

  app.add_option("--batch", a.batch, "Samples of a step, over all ranks: binds the model's '?'")
      ->check(base::Positive());
  app.add_option("--ranks", a.ranks, "Ranks that the executable runs on (1; with --cluster, one a device)")
      ->check(base::Between(1, 65536));
  app.add_option("--precision", o.precision, "Of activations and compute; parameters stay f32")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--mode", a.mode, "train (also makes eval, infer and verify) or infer")
      ->check(CLI::IsMember({"train", "infer"}))
      ->capture_default_str();
  app.add_option("--threads", o.threads, "Threads of each rank")
      ->check(base::Between(1, 1024))
      ->capture_default_str();
  app.add_option("--cpu", o.cpu, "Processor to make kernels for: host, or a name of LLVM such as x86-64-v3")
      ->capture_default_str();
  app.add_option("--bucket-bytes", a.bucketBytes, "Gradients of about so many bytes are reduced together")
      ->transform(CLI::AsSizeValue(false))
      ->check(base::Positive().description(""))
      ->capture_default_str();
  app.add_option("--memory-limit", a.memoryLimit,
                 "Bytes that a rank may use to train, or with --mode=infer to infer; with a suffix, kb and kib are 1024 bytes, "
                 "and so on")
      ->transform(CLI::AsSizeValue(false))
      ->check(base::Positive().description(""));

  auto *optimizer = app.add_option_group("Optimizer");
  optimizer->add_option("--optimizer", o.optimizer, "How parameters move")
      ->check(CLI::IsMember({"sgd", "momentum", "adam", "adamw", "lars", "lamb"}))
      ->capture_default_str();
  // Each optimizer checks which of these it has and what values they can take.
  for (const auto &[option, setting, description] :
       {std::tuple("--weight-decay", "weight_decay", "Weight decay; not of parameters of rank 0 and 1 (adamw 1e-4, else 0)"),
        {"--momentum", "momentum", "Momentum (momentum, lars; 0.9)"},
        {"--nesterov", "nesterov", "1: Nesterov's momentum (momentum, lars; 0)"},
        {"--beta1", "beta1", "Decay of the first moment (adam, adamw, lamb; 0.9)"},
        {"--beta2", "beta2", "Decay of the second moment (adam, adamw, lamb; 0.999)"},
        {"--epsilon", "epsilon", "Added to denominators (adam and adamw 1e-8, lamb 1e-6, lars 0)"},
        {"--trust-coefficient", "trust_coefficient", "Trust coefficient (lars; 0.001)"}}) {
    std::string name = setting;
    optimizer
        ->add_option_function<double>(
            option,
            [&o, name](const double &value) {
              o.optimizerSettings.push_back(name + "=" +
                                            llvm::formatv("{0}", llvm::format("%.17g", value)).str());
            },
            description)
        ->check(base::FiniteReal());
  }
  optimizer->add_option("--clip-norm", o.clipNorm, "Largest global norm of the gradients; 0: not clipped")
      ->check(base::NonnegativeReal())
      ->capture_default_str();

  auto *planning = app.add_option_group("Plan");
  planning
      ->add_option(
          "--cluster", a.cluster,
          "What the plan is made for: a preset such as lassen or dgx_h100:nodes=4, or a cluster file "
          "(docs/planning.md)");
  planning
      ->add_option(
          "--parallel", a.parallel,
          "How to split the work: auto (all of it is searched), layouts (auto without pipelines), data, zero1, zero2, zero3, tensor, or a list such as "
          "data=2,tensor=4,zero=1, whose layouts are searched within that; pipeline=P cuts the model into P "
          "stages, pipeline=2:1:1 into stages of so many ranks; each number may be auto; gpipe, 1f1b, interleaved, zb, bidirectional, pipedream: a pipeline over all ranks in that schedule")
      ->capture_default_str();
  planning
      ->add_option("--micro-batches", a.microBatches,
                   "Into how many parts a step's batch is split, which run one after the other; their gradients "
                   "are added up: a number (1; in a pipeline, one a stage), or auto, searched")
      ->check(base::Between(1, 65536) | CLI::IsMember({"auto"}));
  planning->add_option("--schedule", o.schedule,
                       "In which order a pipeline's stages run micro-batches: gpipe, 1f1b (default), "
                       "interleaved[:chunks=N], zb (zb-h1), zb-h2, bidirectional, message-driven[:in-flight=N], "
                       "and without a flush pipedream[:vertical-sync], which updates after each micro-batch; or auto, "
                       "searched. gpipe, 1f1b and pipedream with :round-robin or :split: a stage's replicas take whole "
                       "micro-batches in turn, or a part of each");
  planning->add_option("--recompute", a.recompute,
                       "What the backward pass computes again, so that less of the forward pass need be kept: none (default), "
                       "full (all but what is alive at the borders of segments), selective (all but products with parameters "
                       "and what is communicated); a list with a word for each stage, full,none; or auto (default where --parallel=auto), of each "
                       "stage as little as fits into --memory-limit");
  planning->add_option(
      "--layout", a.layout,
      "Layout rules dim:axis,...: named dimensions are split over these axes (data, tensor), the rest "
      "is searched");
  planning
      ->add_option("--cost-model", o.costModel,
                   "What the search minimizes: native, or alpa, pipedream, piper")
      ->capture_default_str();
  planning
      ->add_option("--search", o.search,
                   "exact, mcmc, ilp or random; with settings: mcmc:proposals=100000,seed=1")
      ->capture_default_str();
  planning->add_option("--plan-out", a.planOut, "Also write the plan, text that --plan-in reads");
  planning->add_option("--plan-in", a.planIn, "Compile this plan, written by --plan-out and perhaps edited");

  auto *inspect = app.add_option_group("Inspection");
  inspect->add_option("--to", a.to,
                      "Stop after a phase and print it: model, specialized, step, plan, partitioned, fused, "
                      "rt, program");
  inspect->add_option("--report", a.reportPath, "Also write the plan's report, JSON");

  auto *toCome = app.add_option_group("Not supported yet");
  toCome->add_option("--backend", a.backend, "cpu; cuda is to come");

  app.callback([arguments, model, &action] {
    if (model->count() > 0)
      action = [arguments] { return compile(*arguments); };
  });
}
