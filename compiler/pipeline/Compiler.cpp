//===- Compiler.cpp - the phases in order ---------------------------------===//

#include "compiler/pipeline/Compiler.h"
#include "compiler/codegen/KernelLibrary.h"
#include "compiler/codegen/program/RankPrograms.h"
#include "compiler/machine/ClusterFile.h"
#include "compiler/machine/ir/ClusterAttr.h"
#include "compiler/pipeline/Communication.h"
#include "compiler/pipeline/FitMemory.h"
#include "compiler/pipeline/IdLimits.h"
#include "compiler/pipeline/KernelOperations.h"
#include "compiler/pipeline/Layouts.h"
#include "compiler/pipeline/MessageTimes.h"
#include "compiler/pipeline/ModelInputs.h"
#include "compiler/pipeline/PlanFile.h"
#include "compiler/pipeline/PlanPasses.h"
#include "compiler/pipeline/PlannedPipeline.h"
#include "compiler/pipeline/ReplicaTurns.h"
#include "compiler/pipeline/StagePlans.h"
#include "compiler/pipeline/TaskSchedule.h"
#include "compiler/plan/Report.h"
#include "compiler/plan/search/Explain.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/Analysis/Linearity.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/autodiff/AutodiffPass.h"
#include "passes/bias/BiasPasses.h"
#include "passes/bucket/BucketPass.h"
#include "passes/fuse/FusePass.h"
#include "passes/lower/LowerPass.h"
#include "passes/memory/MemoryPass.h"
#include "passes/partition/PartitionPass.h"
#include "passes/plan_data_parallel/PlanDataParallelPass.h"
#include "passes/precision/PrecisionPass.h"
#include "passes/recompute/RecomputePass.h"
#include "passes/separate_projections/SeparateProjectionsPass.h"
#include "passes/specialize/SpecializePass.h"
#include "passes/verify/VerifyPasses.h"
#include "passes/verify_parallel/VerifyParallelPasses.h"
#include "runtime/program/checker.h"
#include "runtime/program/container.h"
#include "runtime/program/dump.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

namespace {

/// What the search did, if there was one.
using Outcome = std::optional<plan::SearchOutcome>;

//===----------------------------------------------------------------------===//
// The passes of each phase
//===----------------------------------------------------------------------===//

/// Whether layouts are searched: data parallelism alone leaves nothing to decide.
bool searchesPlan(const CompileOptions &options) {
  return options.plan.empty() && (options.searchesPipeline() || options.searchesDataParallel ||
                                  !options.parallel.isDataParallel() || !options.layoutRules.empty());
}

void addSpecialized(PassManager &passes, const CompileOptions &options, Outcome &) {
  // First: everything after it may count on static shapes and full names.
  passes::SpecializePassOptions specialize;
  if (options.batch)
    specialize.batch = *options.batch;
  passes.addPass(passes::createSpecializePass(specialize));
  passes.addPass(passes::createVerifySpecializedPass());
  // Of what blocks became, since it changes parameters; before precision puts casts between them and their products, and
  // before autodiff, so that gradients and optimizer state have the same dimensions.
  passes.addPass(passes::createSeparateProjectionsPass());
  // Before autodiff, so that gradients flow through the casts and arrive in the parameters' type.
  passes::PrecisionPassOptions precision;
  precision.type = options.precision == "bf16" ? passes::ComputeType::BF16 : passes::ComputeType::F32;
  passes.addPass(passes::createPrecisionPass(precision));
}

void addStep(PassManager &passes, const CompileOptions &options, Outcome &) {
  passes::AutodiffPassOptions autodiff;
  if (options.mode == Mode::Infer)
    autodiff.modes.assign({std::string("infer"), std::string("evaluate")});
  autodiff.optimizer = options.optimizer;
  autodiff.hyperparameters.assign(options.optimizerSettings.begin(), options.optimizerSettings.end());
  autodiff.clipNorm = options.clipNorm;
  autodiff.pairs = searchesPlan(options);
  passes.addPass(passes::createAutodiffPass(autodiff));
  // Gradient rules leave multiplications by one, casts there and back, and computations that stand twice.
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(passes::createVerifyStepPass());
}

void addPartitioned(PassManager &passes, const CompileOptions &options, Outcome &) {
  // Of planned steps, so that a plan is made once and not for every micro-batch; before partition, so that stages and
  // micro-batches are cut out of global shapes, once and not for every rank.
  if (auto schedule = makeTaskSchedule(options); schedule && !schedule->isTrivial()) {
    passes.addPass(createPipelinePass(*schedule, makeMessageTimes(options)));
  } else {
    llvm::consumeError(schedule.takeError()); // told before the phases began
  }
  // Of stages, since what is kept depends on how many micro-batches each has in flight; before partition, so that what is
  // computed again has the layouts, and the collectives, of the plan.
  passes.addPass(passes::createRecomputePass());
  passes.addPass(passes::createPartitionPass());
  passes.addPass(passes::createVerifyPartitionedPass());
  // Where no collective came between, the bias is added by the library call again. Of every plan, so that one that is read
  // runs as the one that was written.
  passes.addPass(passes::createFoldBiasPass());
  // Needs every collective; before fuse, which keeps each value as early as it finds it.
  passes::BucketPassOptions bucket;
  bucket.bytes = options.bucketBytes;
  passes.addPass(passes::createBucketPass(bucket));
}

void addFused(PassManager &passes, const CompileOptions &, Outcome &) {
  // After partition: kernels are made for local shapes, and no group reaches across a collective.
  passes.addPass(passes::createFusePass());
}

void addRt(PassManager &passes, const CompileOptions &options, Outcome &) {
  passes.addPass(passes::createLowerPass());
  // Last of all passes: it needs every buffer and the order of every instruction.
  passes::WorkspaceQuery query;
  if (options.workspaceBytes)
    query = [&options](const program::InstructionT &call, std::string &reason) -> int64_t {
      llvm::Expected<int64_t> bytes = options.workspaceBytes(call, options.threads);
      if (bytes)
        return *bytes;
      reason = llvm::toString(bytes.takeError());
      return -1;
    };
  passes.addPass(passes::createMemoryPass(query));
  passes::VerifyLoweredPassOptions placed;
  placed.placed = true;
  passes.addPass(passes::createVerifyLoweredPass(placed));
}

struct PhasePasses {
  Phase phase;
  void (*add)(PassManager &, const CompileOptions &, Outcome &);
};
constexpr PhasePasses kPhasePasses[] = {
    {Phase::Specialized, addSpecialized}, {Phase::Step, addStep},   {Phase::Plan, addPlanPasses},
    {Phase::Partitioned, addPartitioned}, {Phase::Fused, addFused}, {Phase::Rt, addRt}};

LogicalResult runPasses(ModuleOp module, const CompileOptions &options, Phase begin, Phase end, Outcome &outcome) {
  PassManager passes(module.getContext());
  passes.enableVerifier(true);
  for (const PhasePasses &phase : kPhasePasses)
    if (phase.phase > begin && phase.phase <= end)
      phase.add(passes, options, outcome);
  return passes.run(module);
}

/// What a plan was made for, beside what its steps are.
void stateOrigin(ModuleOp module, const CompileOptions &options) {
  Builder b(module.getContext());
  module->setAttr(kPrecisionAttr, b.getStringAttr(options.precision));
  if (options.mode == Mode::Train)
    module->setAttr(kOptimizerAttr, b.getStringAttr(options.optimizer));
  if (options.cluster)
    machine::setCluster(module, *options.cluster);
}

/// Runs the phases after `begin`, up to and including `end`.
LogicalResult runBetween(ModuleOp module, const CompileOptions &options, Phase begin, Phase end,
                         Outcome &outcome) {
  if (!options.searchesStages())
    if (auto schedule = makeTaskSchedule(options); !schedule)
      return module.emitError(llvm::toString(schedule.takeError()));
  if (begin < Phase::Plan && end >= Phase::Plan)
    stateOrigin(module, options);
  auto run = [&](ModuleOp planned, const CompileOptions &by, Outcome &found) {
    return runPasses(planned, by, begin, std::min(end, Phase::Plan), found);
  };
  bool plans = begin < Phase::Plan && end >= Phase::Plan;
  if (failed(plans ? planWithTurns(module, options, outcome, run) : run(module, options, outcome)))
    return failure();
  if (end < Phase::Plan)
    return success();
  // What is done with a plan depends on the pipeline that it states.
  CompileOptions planned = withPlannedPipeline(module, options);
  if (failed(stateRecompute(module, planned)))
    return failure();
  if (end == Phase::Plan)
    return success();
  if (auto schedule = makeTaskSchedule(planned); !schedule)
    return module.emitError(llvm::toString(schedule.takeError()));
  return runPasses(module, planned, std::max(begin, Phase::Plan), end, outcome);
}

//===----------------------------------------------------------------------===//
// From rt to a payload
//===----------------------------------------------------------------------===//

/// Every kernel of the module as one shared object; `entries` says what each rt.define became.
FailureOr<std::string> buildKernels(ModuleOp module, const CompileOptions &options,
                                    std::map<std::string, codegen::KernelEntry> &entries,
                                    std::string &cpuFeatures) {
  codegen::CodegenOptions codegenOptions;
  codegenOptions.cpu = options.cpu;
  codegenOptions.optimizationLevel = options.kernelOptimization;
  codegen::KernelLibraryBuilder builder(module.getContext(), codegenOptions);
  for (auto define : module.getOps<rt::DefineOp>()) {
    auto fusions = define.getBody().getOps<nn::FusionOp>();
    SmallVector<MemRefType> arguments;
    for (Type type : define.getArguments().getAsValueRange<TypeAttr>())
      arguments.push_back(cast<MemRefType>(type));
    FailureOr<codegen::Kernel> kernel = builder.add(*fusions.begin(), arguments);
    if (failed(kernel))
      return failure();
    entries[define.getSymName().str()] = {kernel->symbol, kernel->parallelExtent};
  }
  cpuFeatures = builder.getFeatures();
  return builder.build();
}

/// What the report says of a plan, and what the rt form does not have any more.
struct PlanFacts {
  std::vector<plan::LayoutRow> layouts, optimizerLayouts;
  std::vector<plan::CommunicationRow> communication;
  std::pair<std::vector<std::string>, std::vector<int64_t>> mesh;
  std::vector<plan::StageMesh> stageMeshes;
  std::optional<plan::Exchange> exchange;
  plan::ParallelSpec parallel;
  CompileOptions options; // with the pipeline that the plan states
  SmallVector<dist::Recompute> recompute; // per stage; empty: nothing
  std::string text;       // where it is kept
  std::string modelName;
};

/// Only its layouts say how a plan that was read is parallel; of stages that are not alike, each by its own, and together as
/// the largest numbers.
plan::ParallelSpec describeReadPlan(ModuleOp module, const CompileOptions &options) {
  plan::ParallelSpec asked = options.parallel;
  asked.isSearched = true;
  if (options.parallel.stages.empty())
    return plan::describeParallelism(*module.getOps<nn::StepOp>().begin(), asked, options.ranksOfStage());
  plan::ParallelSpec whole = asked;
  whole.data = whole.tensor = 1;
  whole.zero = 0;
  std::vector<int64_t> ranks = options.ranksOfStages();
  for (const auto &[step, stages] : firstSteps(module))
    for (int64_t stage : stages) {
      plan::ParallelSpec found = plan::describeParallelism(step, asked, ranks[stage]);
      whole.data = std::max(whole.data, found.data);
      whole.tensor = std::max(whole.tensor, found.tensor);
      whole.zero = std::max(whole.zero, found.zero);
      whole.stages[stage] = found;
    }
  return whole;
}

PlanFacts collectFacts(ModuleOp module, const CompileOptions &asked, const DimensionNames &names,
                       const Outcome &outcome) {
  PlanFacts facts;
  CompileOptions &options = facts.options = withPlannedPipeline(module, asked);
  facts.recompute = *passes::getRecompute(module, options.parallel.pipeline); // checked with the plan
  facts.layouts = collectLayouts(module, names);
  facts.optimizerLayouts = collectLayouts(module, names, /*ofOptimizer=*/true);
  facts.communication = collectCommunication(module, options);
  facts.mesh = collectMesh(module);
  facts.stageMeshes = collectStageMeshes(module);
  facts.exchange = exchangeOf(module, asked);
  facts.parallel = outcome ? outcome->parallel : options.parallel;
  if (!options.plan.empty())
    facts.parallel = describeReadPlan(module, options);
  if (options.keepsPlan)
    llvm::raw_string_ostream(facts.text) << module;
  auto name = module->getAttrOfType<StringAttr>("nn.model_name");
  facts.modelName = name ? name.str() : "model";
  return facts;
}

/// Stages, micro-batches, and what is computed again, which come after the plan.
void describeSchedule(const CompileOptions &options, ArrayRef<dist::Recompute> recompute, plan::ReportInput &report) {
  TaskSchedule schedule = llvm::cantFail(makeTaskSchedule(options)); // the phases have run
  report.microBatches = schedule.microBatches;
  report.schedule = schedule.name;
  if (options.mode == Mode::Infer) { // the whole batch, once through all stages
    report.microBatches = 1;
    report.schedule = options.parallel.pipeline > 1 ? "forward" : "none";
  }
  bool trains = options.mode == Mode::Train;
  for (int64_t stage = 0; stage < options.parallel.pipeline; ++stage)
    report.recompute.push_back(dist::toString(trains && !recompute.empty() ? recompute[stage] : dist::Recompute::None));
  report.parallel.pipeline = options.parallel.pipeline;
  report.stageRanks = options.ranksOfStages();
  if (!report.stageMeshes.empty()) {
    report.meshAxes = {};
    report.meshSizes = {};
  } else if (options.parallel.pipeline > 1) {
    report.meshAxes.insert(report.meshAxes.begin(), "pipeline");
    report.meshSizes.insert(report.meshSizes.begin(), options.parallel.pipeline);
  }
}

std::string_view view(const std::string &text) { return {text.data(), text.size()}; }

/// Samples that are sequences of ids: how many each has.
int64_t tokensPerSample(const program::ExecutableT &executable) {
  if (executable.programs.empty() || executable.programs.front()->inputs.empty())
    return 0;
  const program::InputT &first = *executable.programs.front()->inputs.front();
  return first.element_type == program::ElementType::kI32 && first.shape.size() == 2 ? first.shape[1] : 0;
}

} // namespace

void pdc::pipeline::registerDialects(DialectRegistry &registry) {
  registry.insert<nn::NNDialect, dist::DistDialect, rt::RtDialect>();
  nn::registerLinearity(registry);
  codegen::registerCodegenDialects(registry);
}

void pipeline::addPlanPasses(PassManager &passes, const CompileOptions &options, Outcome &outcome) {
  // On whole steps: a layout is chosen for gradients and updates as for the forward pass.
  if (!options.parallel.stages.empty()) {
    if (searchesPlan(options))
      outcome.emplace();
    return passes.addPass(createStagePlansPass(options, outcome, addPlanPasses));
  }
  if (!options.plan.empty())
    return passes.addPass(createReadPlanPass(options));
  if (searchesPlan(options)) {
    // A sum over parts must not add the bias of each: where a bias stands alone, its op can be split along that sum.
    passes.addPass(passes::createExposeBiasPass());
    return passes.addPass(createPlanSearchPass(options, outcome.emplace()));
  }
  passes::PlanDataParallelPassOptions plan;
  plan.ranks = options.ranksOfStage();
  passes.addPass(passes::createPlanDataParallelPass(plan));
  // A plan that is read says all that was asked for.
  if (options.keepsPlan)
    passes.addPass(createStatePipelinePass(options));
}

LogicalResult pdc::pipeline::runPhases(ModuleOp module, const CompileOptions &options, Phase last) {
  Outcome outcome;
  return runBetween(module, options, Phase::Model, last, outcome);
}

LogicalResult pdc::pipeline::runPhasesForSearch(ModuleOp module, const CompileOptions &options) {
  if (failed(runPhases(module, options, Phase::Step)))
    return failure();
  PassManager passes(module.getContext());
  passes.addPass(passes::createExposeBiasPass());
  return passes.run(module);
}

LogicalResult pdc::pipeline::runPhasesAfterPlan(ModuleOp module, const CompileOptions &options) {
  Outcome outcome;
  return runBetween(module, options, Phase::Plan, Phase::Rt, outcome);
}

FailureOr<Compiled> pdc::pipeline::compile(ModuleOp module, const CompileOptions &options) {
  return compileFrom(module, options, Phase::Model);
}

FailureOr<Compiled> pdc::pipeline::compileFrom(ModuleOp module, const CompileOptions &options, Phase done) {
  std::string modelText;
  llvm::raw_string_ostream(modelText) << module;
  Outcome outcome;
  // Names of dimensions stand in the model, layouts in the plan: both are gone from the rt form.
  if (failed(runBetween(module, options, done, Phase::Specialized, outcome)))
    return failure();
  DimensionNames names = collectDimensionNames(module);
  std::map<std::string, nn::IdRange> idRanges = collectIdRanges(module);
  PlanFacts facts;
  done = std::max(done, Phase::Specialized);
  // What the plan is made of does not depend on it.
  if (failed(runBetween(module, options, done, Phase::Step, outcome)))
    return failure();
  ModelInputs inputs = collectInputs(module);
  auto plan = [&](const CompileOptions &tried, Outcome &found) {
    return runBetween(module, tried, std::max(done, Phase::Step), Phase::Plan, found);
  };
  auto lower = [&](const CompileOptions &tried, Outcome &found) {
    facts = collectFacts(module, tried, names, found);
    return runBetween(module, tried, std::max(done, Phase::Plan), Phase::Rt, found);
  };
  auto snapshot = [&]() -> std::function<void()> { return [&facts, known = facts] { facts = known; }; };
  if (failed(planWithinMemory(module, options, outcome, {plan, lower, snapshot})))
    return failure();

  program::ExecutableT executable;
  codegen::RankProgramsOptions programOptions;
  FailureOr<std::string> kernels =
      buildKernels(module, options, programOptions.kernels, executable.cpu_features);
  if (failed(kernels) || failed(codegen::writeRankPrograms(module, programOptions, executable)))
    return failure();
  cost::KernelOperations kernelOperations = countKernelOperations(module, programOptions.kernels);
  for (auto &kernel : executable.kernels)
    kernel->operations = kernelOperations[kernel->symbol];
  setInputs(executable, inputs);
  setIdRanges(executable, idRanges);
  executable.model = facts.modelName;
  executable.compiler_version = kCompilerVersion;
  executable.threads = options.threads;
  executable.precision = options.precision;
  executable.optimizer = options.mode == Mode::Train ? options.optimizer : "";
  executable.tokens_per_sample = tokensPerSample(executable);

  std::string programs = program::WriteExecutable(executable);
  auto table = program::ReadExecutable(view(programs));
  absl::Status checked = table.ok() ? program::CheckExecutable(**table) : table.status();
  if (!checked.ok())
    return module.emitError("the compiler made a program that does not pass its own check: ")
           << std::string(checked.message());

  int64_t batch = executable.programs.front()->batch;
  plan::ReportInput reportInput{executable,
                                facts.parallel,
                                batch,
                                std::move(facts.layouts),
                                std::move(facts.communication),
                                {},
                                {},
                                std::move(outcome),
                                options.cluster ? *options.cluster : machine::local(options.ranks),
                                std::move(kernelOperations)};
  std::tie(reportInput.meshAxes, reportInput.meshSizes) = std::move(facts.mesh);
  reportInput.stageMeshes = std::move(facts.stageMeshes);
  reportInput.exchange = facts.exchange;
  reportInput.optimizerLayouts = std::move(facts.optimizerLayouts);
  describeSchedule(facts.options, facts.recompute, reportInput);
  llvm::json::Value report = plan::buildReport(reportInput);
  Compiled compiled;
  compiled.plan = std::move(facts.text);
  compiled.report = llvm::formatv("{0:2}", report);
  plan::forgetSearchTime(*report.getAsObject());
  std::string carriedReport = llvm::formatv("{0:2}", report);
  compiled.payload = program::WritePayload({{program::kProgramSection, view(programs)},
                                            {program::kKernelsSection, view(*kernels)},
                                            {program::kReportSection, view(carriedReport)},
                                            {program::kModelSection, view(modelText)}});
  return compiled;
}

FailureOr<std::string> pdc::pipeline::describeProgram(const Compiled &compiled) {
  auto sections = program::ReadPayload(view(compiled.payload));
  if (!sections.ok())
    return failure();
  auto table = program::ReadExecutable(sections->at(program::kProgramSection));
  if (!table.ok())
    return failure();
  return program::DumpExecutable(**table);
}
