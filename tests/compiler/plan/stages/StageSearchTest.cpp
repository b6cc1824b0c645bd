//===- StageSearchTest.cpp - pipelines of whole models --------------------===//

#include "compiler/machine/ClusterFile.h"
#include "compiler/pipeline/Compiler.h"
#include "compiler/plan/stages/LayoutBound.h"
#include "compiler/plan/stages/StageSearch.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace pdc;
using namespace pdc::plan;

namespace {

/// A model's training step, as a search finds it.
struct Training {
  Training(const std::string &model, int64_t batch) : context(registry()) {
    context.disableMultithreading();
    std::string text = model;
    if (model.find('\n') == std::string::npos)
      text = llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(model)))->getBuffer().str();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    pipeline::CompileOptions options;
    options.batch = batch;
    options.parallel.isSearched = true;
    EXPECT_TRUE(succeeded(pipeline::runPhasesForSearch(*module, options)));
    for (nn::StepOp candidate : module->getOps<nn::StepOp>())
      if (candidate.getKind() == "train")
        step = candidate;
  }
  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    pipeline::registerDialects(registry);
    return registry;
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  nn::StepOp step;
};

/// Two nodes of two devices; `fast` of the second one's devices is as fast as so many of the first one's.
machine::Cluster clusterOf(double fast = 1) {
  std::string flops = std::to_string(fast * 1e12);
  return llvm::cantFail(machine::parseCluster(R"(name: two
devices:
  a: {memory: 16 GB, peak: {f32: 1e12}, memory_bandwidth: 200 GB/s, launch: 1 us}
  b: {memory: 16 GB, peak: {f32: )" + flops + R"(}, memory_bandwidth: 200 GB/s, launch: 1 us}
nodes:
  - {count: 1, device: a, devices: 2, host: {memory: 64 GB, memory_bandwidth: 200 GB/s, cores: 8, link: {latency: 5 us, bandwidth: 12 GB/s}},
     links: [{name: bus, members: 2, latency: 3 us, bandwidth: 10 GB/s}]}
  - {count: 1, device: b, devices: 2, host: {memory: 64 GB, memory_bandwidth: 200 GB/s, cores: 8, link: {latency: 5 us, bandwidth: 12 GB/s}},
     links: [{name: bus, members: 2, latency: 3 us, bandwidth: 10 GB/s}]}
network: [{name: ethernet, members: 2, latency: 30 us, bandwidth: 1 GB/s}]
)",
                                              "two"));
}

/// A stack of layers whose parameters are large for their work, so that replicas are not worth their reductions.
std::string stackOf(int layers) {
  return R"(
nn.block @layer(%x: tensor<?x512xf32>) -> tensor<?x512xf32> {
  %w = nn.param "w" init(kaiming) : tensor<512x512xf32>
  %y = nn.linear %x, %w : (tensor<?x512xf32>, tensor<512x512xf32>) -> tensor<?x512xf32>
  %z = nn.tanh %y : tensor<?x512xf32>
  nn.return %z : tensor<?x512xf32>
}
nn.model @stack(%x: tensor<?x512xf32>) -> (loss: tensor<f32>) {
  %y = nn.repeat )" +
         std::to_string(layers) + R"( @layer "h" (%x) : (tensor<?x512xf32>) -> tensor<?x512xf32>
  %loss = nn.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<?x512xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
}

/// Layers that have much work and few parameters, before one with little work and many.
std::string wideHead() {
  return R"(
nn.block @layer(%x: tensor<?x256x256xf32>) -> tensor<?x256x256xf32> {
  %w = nn.param "w" init(kaiming) : tensor<256x256xf32>
  %y = nn.linear %x, %w : (tensor<?x256x256xf32>, tensor<256x256xf32>) -> tensor<?x256x256xf32>
  %z = nn.tanh %y : tensor<?x256x256xf32>
  nn.return %z : tensor<?x256x256xf32>
}
nn.model @wide_head(%x: tensor<?x256x256xf32>) -> (loss: tensor<f32>) {
  %y = nn.repeat 6 @layer "h" (%x) : (tensor<?x256x256xf32>) -> tensor<?x256x256xf32>
  %pooled = nn.reduce_mean %y {axes = array<i64: 1>} : (tensor<?x256x256xf32>) -> tensor<?x256xf32>
  %w = nn.param "head" init(kaiming) : tensor<256x65536xf32>
  %head = nn.linear %pooled, %w : (tensor<?x256xf32>, tensor<256x65536xf32>) -> tensor<?x65536xf32>
  %loss = nn.reduce_mean %head {axes = array<i64: 0, 1>} : (tensor<?x65536xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
}

struct Search {
  Search(Training &training, machine::Cluster used, int64_t ranks, StageSpace space = {},
         std::optional<int64_t> memory = {})
      : cluster(std::move(used)), costs(llvm::cantFail(cost::makeCostModel("native", cluster))),
        request{cluster, *costs, ranks, space, memory}, decision(searchStages(training.step, request)) {}

  machine::Cluster cluster;
  std::unique_ptr<cost::CostModel> costs;
  StageRequest request;
  std::optional<StageDecision> decision;
};

TEST(StepUnits, ATransformerIsCutBetweenItsBlocks) {
  Training training("models/gpt_tiny.mlir", 8);
  std::unique_ptr<StepUnits> units = StepUnits::make(training.step, 4);
  ASSERT_TRUE(units);
  // Embedding and position, two blocks a layer, final norm, logits, loss.
  EXPECT_GE(units->size(), 2 + 2 * 4);
  EXPECT_EQ(units->getCuts().size(), units->size() + 1);
  std::vector<int> forward(units->size(), 0);
  for (const UnitMessage &message : units->getMessages()) {
    for (int to : message.to)
      EXPECT_EQ(message.isForward, message.from < to);
    if (message.isForward && message.from < units->size() - 3)
      EXPECT_EQ(++forward[message.from], 1) << "one value leaves a unit";
  }
  int tied = 0;
  for (const UnitParameter &parameter : units->getParameters())
    if (parameter.units.size() > 1) {
      EXPECT_EQ(parameter.name, "wte.weight");
      ++tied;
    }
  EXPECT_EQ(tied, 1);
}

TEST(StepUnits, BranchesCanBeOnDifferentStages) {
  std::string towers = R"(
nn.block @layer(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = nn.param "w" init(kaiming) : tensor<64x64xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %z = nn.tanh %y : tensor<?x64xf32>
  nn.return %z : tensor<?x64xf32>
}
nn.model @towers(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>) -> (loss: tensor<f32>) {
  %a = nn.repeat 3 @layer "a" (%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %b = nn.repeat 3 @layer "b" (%y) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %s = nn.add %a, %b : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
  %loss = nn.reduce_mean %s {axes = array<i64: 0, 1>} : (tensor<?x64xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
  Training training(towers, 8);
  std::unique_ptr<StepUnits> units = StepUnits::make(training.step, 2);
  ASSERT_TRUE(units);
  // Every part of one tower with every part of the other.
  EXPECT_GT(units->getCuts().size(), 4 * 4);
  EXPECT_GT(units->getCuts().size(), units->size() + 1);
}

/// What is searched: of each stage, or of an interleaved pipeline for all stages alike.
std::vector<std::vector<Recompute>> recomputesFor(bool isLimited, bool isInterleaved) {
  if (!isLimited)
    return {{Recompute::None}};
  if (isInterleaved)
    return {{Recompute::None}, {Recompute::Full}, {Recompute::Selective}};
  return {{std::begin(kRecomputes), std::end(kRecomputes)}};
}

TEST(StageSearch, NoSettingAndNoCutsAreBetter) {
  Training training("models/gpt_tiny.mlir", 8);
  for (const char *preset : {"pipedream_a", "dgx_h100"})
    for (std::optional<int64_t> memory : {std::optional<int64_t>(), std::optional<int64_t>(40'000'000)}) {
      Search search(training, llvm::cantFail(machine::resolveCluster(preset, 4)), 4, {}, memory);
      ASSERT_TRUE(search.decision);
      std::unique_ptr<StepUnits> units = StepUnits::make(training.step, 8);
      CutGraph graph(*units);
      LayoutTables tables(training.step, *units, search.cluster, *search.costs, 4);
      StageLinks links(search.cluster, *search.costs);
      double best = std::numeric_limits<double>::infinity();
      for (auto [stages, data, tensor] : {std::tuple(1, 4, 1), {1, 2, 2}, {1, 1, 4}, {2, 2, 1}, {2, 1, 2}, {4, 1, 1}})
        for (int64_t microBatches : {1, 2, 4, 8})
          for (int64_t zero = 0; zero <= (data > 1 ? 3 : 0); ++zero)
            for (const StageSchedule &schedule : std::vector<StageSchedule>{
                     {"1f1b"}, {"zb-h1"}, {"interleaved", 2}, {"interleaved", 4}, {"interleaved", 8}}) {
              bool isInterleaved = schedule.chunks > 1;
              if (microBatches * data > 8 ||
                  (isInterleaved && (stages == 1 || microBatches % stages != 0 || stages * schedule.chunks > units->size())))
                continue;
              StageSetting setting{stages, data, tensor, zero, microBatches, stages == 1 ? "none" : schedule.name};
              setting.chunks = schedule.chunks;
              for (const std::vector<Recompute> &recompute : recomputesFor(memory.has_value(), isInterleaved)) {
                setting.recompute = recompute;
                StageCosts costs(graph, tables, links, setting);
                StagePlan plan = planStagesByBruteForce(costs.problem(memory));
                if (plan.status != StageStatus::found)
                  continue;
                best = std::min(best, plan.seconds);
                EXPECT_LE(costs.boundSeconds(), plan.seconds * (1 + 1e-9)) << describe(setting);
                EXPECT_LE(boundOfAllLayouts(tables, links, setting, zero, {schedule}), plan.seconds * (1 + 1e-9))
                    << describe(setting);
              }
            }
      for (int64_t stages : {2, 3})
        for (int64_t microBatches : {1, 2, 4, 8})
          for (int64_t zero = 0; zero <= 3; ++zero)
            for (const char *schedule : {"1f1b", "zb-h1"}) {
              StageSetting setting{stages, 1, 1, zero, microBatches, schedule};
              setting.ranks = 4;
              for (StageSplit mesh : {StageSplit{1, 1}, {2, 1}, {1, 2}, {3, 1}})
                if (mesh.ranks() <= 5 - stages && mesh.data * microBatches <= 8) {
                  setting.meshes.push_back(mesh);
                  ASSERT_TRUE(tables.find(mesh.tensor, setting.samples(8, mesh.data), 0));
                }
              if (memory)
                setting.recompute.assign(std::begin(kRecomputes), std::end(kRecomputes));
              StageCosts costs(graph, tables, links, setting);
              StagePlan plan = planStagesByBruteForce(costs.problem(memory));
              if (plan.status != StageStatus::found)
                continue;
              EXPECT_TRUE(costs.refine(plan.stages));
              EXPECT_LE(costs.boundSeconds(), plan.seconds * (1 + 1e-9)) << describe(setting);
              best = std::min(best, plan.seconds);
            }
      EXPECT_DOUBLE_EQ(search.decision->leastSeconds, best) << preset;
      EXPECT_LE(search.decision->lowerBoundSeconds, best);
      EXPECT_GT(search.decision->lowerBoundSeconds, 0);
    }
}

TEST(StageSearch, AStackOfLargeParametersIsAPipeline) {
  Training training(stackOf(8), 64);
  Search search(training, clusterOf(), 4);
  ASSERT_TRUE(search.decision);
  EXPECT_GT(search.decision->setting.stages, 1);
  EXPECT_GT(search.decision->setting.microBatches, 1);
  // Chunks do not go back.
  int64_t last = 0;
  for (int64_t chunk : search.decision->chunkOfOp) {
    if (chunk >= 0)
      EXPECT_GE(chunk, last);
    last = std::max(last, chunk);
  }
  EXPECT_EQ(last, search.decision->setting.stages - 1);
}

/// Equal chunks take (v m + p - 1) times what one takes: as a cost, and in simulated time.
TEST(StageCosts, InterleavedChunksFillThePipelineSooner) {
  Training training(stackOf(16), 64);
  Search search(training, clusterOf(), 4); // for the machine
  std::unique_ptr<StepUnits> units = StepUnits::make(training.step, 16);
  CutGraph graph(*units);
  LayoutTables tables(training.step, *units, search.cluster, *search.costs, 4);
  StageLinks links(search.cluster, *search.costs);
  for (int64_t chunks : {1, 2, 4}) {
    StageSetting setting{4, 1, 1, 0, 8, chunks == 1 ? "1f1b" : "interleaved"};
    setting.chunks = chunks;
    StageCosts costs(graph, tables, links, setting);
    StageProblem problem = costs.problem({});
    EXPECT_EQ(problem.stages(), 4 * chunks);
    EXPECT_EQ(problem.inFlight, setting.inFlight());
    std::vector<PlannedStage> parts;
    double pass = 0, slowest = 0;
    uint32_t from = 0;
    for (uint32_t part = 0; part < problem.stages(); ++part) {
      uint32_t to = static_cast<uint32_t>(graph.getUnits().getCuts().size() - 1) * (part + 1) / problem.stages();
      parts.push_back({from, to, 0, part, problem.cost(from, to, problem.tableOf(0, part))});
      from = to;
      pass += parts.back().cost.passSeconds;
      slowest = std::max(slowest, parts.back().cost.workSeconds);
    }
    EXPECT_DOUBLE_EQ(stepSeconds(parts), pass + slowest);
    // The cost takes messages for work, and every chunk for as large as the largest.
    double simulated = costs.simulate(parts);
    EXPECT_GE(stepSeconds(parts), simulated * (1 - 1e-9)) << chunks;
    EXPECT_LE(stepSeconds(parts), simulated * 1.5) << chunks;
    std::vector<int64_t> bytes = costs.bytesOf(parts);
    ASSERT_EQ(bytes.size(), 4u);
    EXPECT_GT(bytes[0], bytes[3]); // holds more micro-batches
  }
}

/// Messages that take nothing, and few micro-batches for many stages: the bubble is worth more than the messages of chunks.
TEST(StageSearch, AnInterleavedPipelineIsFoundWhereMessagesAreCheap) {
  Training training(stackOf(32), 1024);
  machine::Cluster cluster = llvm::cantFail(machine::parseCluster(R"(name: close
devices: {slow: {memory: 16 GB, peak: {f32: 1e11}, memory_bandwidth: 2 TB/s, launch: 1 us}}
nodes:
  - {count: 1, device: slow, devices: 4, host: {memory: 64 GB, memory_bandwidth: 200 GB/s, cores: 8, link: {latency: 5 us, bandwidth: 12 GB/s}},
     links: [{name: bus, members: 4, latency: 0.1 us, bandwidth: 900 GB/s}]}
)",
                                                                 "close"));
  StageSpace space;
  space.pipeline = 4;
  space.microBatches = 4;
  Search search(training, cluster, 4, space);
  ASSERT_TRUE(search.decision);
  const StageDecision &decision = *search.decision;
  EXPECT_EQ(decision.setting.schedule, "interleaved") << describe(decision);
  EXPECT_GT(decision.setting.chunks, 2) << describe(decision);
  EXPECT_EQ(*llvm::max_element(decision.chunkOfOp) + 1, decision.setting.parts());
  EXPECT_EQ(decision.meshes.size(), 4u);
  EXPECT_EQ(decision.recompute.size(), 4u);
  EXPECT_EQ(decision.bytes.size(), 4u);
  for (const char *other : {"1f1b", "zb-h1"}) {
    space.schedule = other;
    Search given(training, cluster, 4, space);
    ASSERT_TRUE(given.decision);
    EXPECT_LT(decision.leastSeconds, given.decision->leastSeconds) << other;
  }
  space.schedule = "interleaved";
  space.chunks = 2;
  Search two(training, cluster, 4, space);
  ASSERT_TRUE(two.decision);
  EXPECT_EQ(two.decision->setting.chunks, 2);
  space.microBatches = 6; // not in groups of the stages
  EXPECT_FALSE(Search(training, cluster, 4, space).decision);
}

TEST(StageSetting, HoldsWhatItsScheduleDoes) {
  StageSetting setting{4, 1, 1, 0, 8, "1f1b"};
  EXPECT_EQ(setting.inFlight(), (std::vector<int64_t>{4, 3, 2, 1}));
  setting.schedule = "zb-h1";
  EXPECT_EQ(setting.inFlight(), (std::vector<int64_t>{4, 4, 4, 4}));
  setting.schedule = "gpipe";
  EXPECT_EQ(setting.inFlight(), (std::vector<int64_t>{8, 8, 8, 8}));
  setting.schedule = "interleaved";
  setting.chunks = 2;
  std::vector<int64_t> each = setting.inFlight();
  ASSERT_EQ(each.size(), 8u);
  EXPECT_EQ(setting.scheduleName(), "interleaved:chunks=2");
  // In the warm-up of rank r are 2 (p - 1 - r) + (v - 1) p tasks, and then one more.
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_GE(each[rank] + each[rank + 4], 2 * (3 - rank) + 4 + 1);
}

TEST(StageSearch, FasterDevicesGetMoreLayers) {
  Training training(stackOf(12), 64);
  StageSpace space;
  space.pipeline = 4;
  Search search(training, clusterOf(/*fast=*/4), 4, space);
  ASSERT_TRUE(search.decision);
  const std::vector<PlannedStage> &stages = search.decision->plan.stages;
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_GT(stages[3].to - stages[3].from, stages[0].to - stages[0].from);
}

TEST(StageSearch, StagesGetAsManyRanksAsTheirWorkNeeds) {
  Training training(wideHead(), 48);
  StageSpace space;
  space.tensor = 1;
  Search search(training, clusterOf(), 4, space);
  ASSERT_TRUE(search.decision);
  EXPECT_EQ(search.decision->meshes, (std::vector<StageSplit>{{3, 1}, {1, 1}}));
  EXPECT_EQ(describe(*search.decision).rfind("pipeline=3:1 data=3:1 tensor=1 zero=", 0), 0u) << describe(*search.decision);
  // Of stages that are all alike none are as fast.
  space.data = 2;
  Search alike(training, clusterOf(), 4, space);
  ASSERT_TRUE(alike.decision);
  EXPECT_LT(search.decision->leastSeconds, alike.decision->leastSeconds);
  space.data = 3; // with no others beside it
  EXPECT_FALSE(Search(training, clusterOf(), 4, space).decision);
}

TEST(StageSearch, WhatIsGivenIsKept) {
  Training training(stackOf(8), 64);
  StageSpace space;
  space.pipeline = 2;
  space.tensor = 2;
  space.microBatches = 4;
  space.schedule = "gpipe";
  Search search(training, clusterOf(), 4, space);
  ASSERT_TRUE(search.decision);
  const StageSetting &setting = search.decision->setting;
  EXPECT_EQ(std::tuple(setting.stages, setting.data, setting.tensor, setting.microBatches, setting.schedule),
            std::tuple(2, 1, 2, 4, "gpipe"));
}

TEST(StageSearch, MemoryIsKeptOrTheClosestPlanIsTold) {
  Training training(stackOf(8), 64);
  Search free(training, clusterOf(), 4);
  ASSERT_TRUE(free.decision);
  int64_t most = *llvm::max_element(free.decision->bytes);
  Search tight(training, clusterOf(), 4, {}, most - 1000);
  ASSERT_TRUE(tight.decision);
  EXPECT_TRUE(tight.decision->fits());
  EXPECT_LE(*llvm::max_element(tight.decision->bytes), most - 1000);
  EXPECT_GE(tight.decision->leastSeconds, free.decision->leastSeconds);
  Search none(training, clusterOf(), 4, {}, 1000);
  ASSERT_TRUE(none.decision);
  EXPECT_FALSE(none.decision->fits());
  EXPECT_GT(*llvm::max_element(none.decision->bytes), 1000);
}

TEST(StageSearch, WhatDoesNotFitIsComputedAgain) {
  Training training("models/gpt_tiny.mlir", 16);
  StageSpace space;
  space.pipeline = 2;
  space.microBatches = 4;
  space.schedule = "1f1b";
  space.recompute = Recompute::None;
  Search keeps(training, clusterOf(), 4, space);
  ASSERT_TRUE(keeps.decision);
  int64_t most = *llvm::max_element(keeps.decision->bytes);
  int64_t previous = most;
  for (Recompute word : {Recompute::Selective, Recompute::Full}) {
    space.recompute = word;
    Search again(training, clusterOf(), 4, space);
    ASSERT_TRUE(again.decision);
    int64_t bytes = *llvm::max_element(again.decision->bytes);
    EXPECT_LT(bytes, most) << toString(word);
    EXPECT_GT(again.decision->leastSeconds, keeps.decision->leastSeconds) << toString(word);
    previous = std::min(previous, bytes);
  }
  // Left open, as little is computed again as fits.
  space.recompute.reset();
  EXPECT_EQ(Search(training, clusterOf(), 4, space, most).decision->recompute, std::vector(2, Recompute::None));
  Search tight(training, clusterOf(), 4, space, previous);
  ASSERT_TRUE(tight.decision && tight.decision->fits());
  EXPECT_THAT(tight.decision->recompute, testing::Contains(testing::Ne(Recompute::None)));
  EXPECT_THAT(tight.decision->bytes, testing::Each(testing::Le(previous)));
  EXPECT_NE(describe(*tight.decision).find(", recompute "), std::string::npos);
  space.recompute = Recompute::None;
  EXPECT_FALSE(Search(training, clusterOf(), 4, space, previous).decision->fits());
}

/// The balance of experts is that of the batch unless somebody asks for micro-batches.
TEST(StageSearch, AModelWithExpertsKeepsOneMicroBatch) {
  Training training("models/moe_tiny.mlir", 8);
  StageSpace space;
  space.keepsStatistics = true;
  space.pipeline = 2;
  Search search(training, clusterOf(), 4, space);
  ASSERT_TRUE(search.decision);
  EXPECT_EQ(search.decision->setting.stages, 2);
  EXPECT_EQ(search.decision->setting.microBatches, 1);
}

} // namespace
