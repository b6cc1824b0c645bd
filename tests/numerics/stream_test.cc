// PipeDream: training without a flush gives what the delayed gradients of one device give. The reference runs the gradient
// program of a mini-batch on one device, with the parameters of the versions that docs/pipelines.md tells, and updates them
// by the optimizers' formulas, which stand here a second time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/numerics/harness.h"

namespace pdc::numerics {
namespace {

struct Case {
  std::string model;
  std::string optimizer;
  int stages, mini_batches;
  bool vertical_sync = false;
  int data = 1, tensor = 1;
  std::vector<int> replicas = {};  // of each stage, which take mini-batches in turn; empty: each takes a part of every one
  int ranks() const {
    return replicas.empty() ? stages * data * tensor : std::accumulate(replicas.begin(), replicas.end(), 0);
  }
  int StageOf(int rank) const {
    if (replicas.empty()) return rank / (data * tensor);
    int stage = 0;
    for (; rank >= replicas[stage]; ++stage) rank -= replicas[stage];
    return stage;
  }
};

// How a stage trains: a round of mini-batches, one of each replica, is an update; what a mini-batch goes forward and backward
// with is so many updates behind.
struct Delay {
  int updates = 0;
  int replicas = 1;
};

std::string NameOf(const Case& c) {
  return c.model + "_" + c.optimizer + "_p" + std::to_string(c.stages) + "_m" + std::to_string(c.mini_batches) + "_d" +
         std::to_string(c.data) + "_t" + std::to_string(c.tensor) + (c.vertical_sync ? "_synced" : "") +
         std::accumulate(c.replicas.begin(), c.replicas.end(), std::string(c.replicas.empty() ? "" : "_turns"),
                         [](const std::string& text, int replicas) { return text + "_" + std::to_string(replicas); });
}

constexpr int64_t kSamples = 2;  // of a mini-batch
constexpr int kSteps = 3;
constexpr double kDecay = 0.01;

Job JobOf(const Case& c) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + c.model + ".mlir";
  job.ranks = c.ranks();
  job.steps = kSteps;
  job.batch = kSamples * c.mini_batches;
  job.parallel = "data=" + std::to_string(c.data) + ",tensor=" + std::to_string(c.tensor) +
                 ",pipeline=" + std::to_string(c.stages);
  for (size_t stage = 0; stage < c.replicas.size(); ++stage)
    job.parallel = (stage ? job.parallel + ":" : "pipeline=") + std::to_string(c.replicas[stage]);
  job.options.microBatches = c.mini_batches;
  job.options.kernelOptimization = 1;
  job.options.schedule = c.vertical_sync        ? "pipedream:vertical-sync"
                         : c.replicas.empty() ? "pipedream"
                                              : "pipedream:round-robin";
  job.options.optimizer = c.optimizer;
  job.options.optimizerSettings = {"weight_decay=" + std::to_string(kDecay)};
  job.learning_rate = c.optimizer == "sgd" ? 0.05 : 2e-3;
  if (c.model == "gpt_tiny")
    job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256, 0.5}}};
  else
    job.fields = {{"label", {Kind::kIds, 10}}};
  return job;
}

Job OneDevice(const Case& c) {
  Job job = JobOf(c);
  job.ranks = 1;
  job.parallel = "data";
  job.options.microBatches = 1;
  job.options.schedule = "";
  job.whole_batch = job.batch;
  job.batch = kSamples;
  return job;
}

using Parameters = std::map<std::string, Tensor>;

// sgd or adamw, update t.
void Update(const Case& c, double rate, bool decays, int64_t t, const Tensor& gradient, Tensor& m, Tensor& v, Tensor& p) {
  m.resize(p.size());
  v.resize(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    double direction = gradient[i];
    if (c.optimizer == "adamw") {
      m[i] = 0.9 * m[i] + 0.1 * gradient[i];
      v[i] = 0.999 * v[i] + 0.001 * gradient[i] * gradient[i];
      direction = m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
    }
    p[i] -= rate * (direction + (decays ? kDecay * p[i] : 0));
  }
}

struct Trained {
  std::vector<double> losses;
  Parameters parameters;
};

// `delays`: of each parameter.
Trained TrainDelayed(const Case& c, const std::map<std::string, Delay>& delays) {
  Job job = OneDevice(c);
  GradientStep gradient(job);
  EXPECT_EQ(gradient.error(), "");
  Trained trained{{}, gradient.InitialParameters()};
  std::map<std::string, std::pair<Tensor, Tensor>> moments;
  for (int step = 1; step <= kSteps; ++step) {
    std::map<std::string, std::vector<Tensor>> versions;
    for (const auto& [name, value] : trained.parameters) versions[name] = {value};
    Parameters sums;  // of a round's gradients
    double loss = 0;
    for (int i = 0; i < c.mini_batches; ++i) {
      Parameters seen;
      for (const auto& [name, delay] : delays) seen[name] = versions[name][std::max(0, i / delay.replicas - delay.updates)];
      GradientStep::Outcome outcome = gradient.Run(seen, step, i * kSamples);
      loss += outcome.loss / c.mini_batches;
      for (const auto& [name, delay] : delays) {
        Tensor& sum = sums[name];
        sum.resize(outcome.gradients.at(name).size());
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += outcome.gradients.at(name)[k] / delay.replicas;
        if ((i + 1) % delay.replicas != 0) continue;
        auto& [m, v] = moments[name];
        Tensor value = versions[name].back();
        Update(c, job.learning_rate, gradient.RankOf(name) > 1, ((step - 1) * c.mini_batches + i + 1) / delay.replicas, sum, m, v,
               value);
        versions[name].push_back(value);
        sum.clear();
      }
    }
    trained.losses.push_back(loss);
    for (auto& [name, value] : trained.parameters) value = versions[name].back();
  }
  EXPECT_EQ(gradient.error(), "");
  return trained;
}

// Of the first stage that has the parameter: a tied one is updated alike on all of its stages.
std::map<std::string, Delay> DelaysOf(const Case& c, const Result& found) {
  std::map<std::string, Delay> delays;
  for (int rank = c.ranks() - 1; rank >= 0; --rank) {
    const int stage = c.StageOf(rank);
    Delay delay{c.stages - 1 - (c.vertical_sync ? 0 : stage)};
    if (!c.replicas.empty()) {
      // A replica has so many mini-batches in flight as the replicas from its stage on need to give one back in time.
      delay.replicas = c.replicas[stage];
      const int behind = std::accumulate(c.replicas.begin() + stage, c.replicas.end(), 0);
      delay.updates = (behind + delay.replicas - 1) / delay.replicas - 1;
    }
    for (const std::string& name : found.parameters_of_ranks[rank]) delays[name] = delay;
  }
  return delays;
}

double Worst(const Trained& expected, const std::vector<double>& losses) {
  double worst = 0;
  for (size_t i = 0; i < losses.size(); ++i)
    worst = std::max(worst, std::abs(losses[i] - expected.losses[i]) / std::abs(expected.losses[i]));
  return worst;
}

class Streams : public testing::TestWithParam<Case> {};

TEST_P(Streams, LossesAndParametersAreThoseOfDelayedGradients) {
  const Case& c = GetParam();
  Result found = RunJob(JobOf(c));
  ASSERT_EQ(found.error, "");
  std::map<std::string, Delay> delays = DelaysOf(c, found);
  Trained expected = TrainDelayed(c, delays);
  ASSERT_EQ(found.losses.size(), expected.losses.size());
  for (const std::vector<double>& losses : found.losses_of_ranks) EXPECT_LT(Worst(expected, losses), 1e-5);
  // Adam moves a weight whose gradient is rounding noise as far as any other.
  const double tolerance = c.optimizer == "sgd" ? 1e-3 : 1e-2;
  for (const auto& [name, value] : expected.parameters) {
    if (found.parameters[name].size() == value.size())  // tensor parallelism keeps parts
      EXPECT_LT(RelativeDifference(found.parameters[name], value), tolerance) << name;
  }
  // The delays are seen: without them, or all alike where they are not, the losses are others.
  for (auto& [name, delay] : delays) delay.updates = c.vertical_sync ? 0 : c.stages - 1;
  if (c.stages > 1) EXPECT_GT(Worst(TrainDelayed(c, delays), found.losses), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(PipeDream, Streams,
                         testing::Values(Case{"gpt_tiny", "sgd", 2, 4}, Case{"gpt_tiny", "adamw", 4, 6},
                                         Case{"gpt_tiny", "adamw", 3, 4, true}, Case{"gpt_tiny", "adamw", 2, 3, false, 2},
                                         Case{"gpt_tiny", "adamw", 2, 3, true, 1, 2}, Case{"lenet", "adamw", 3, 5},
                                         Case{"lenet", "sgd", 4, 6, true}, Case{"resnet_tiny", "sgd", 3, 4},
                                         Case{"resnet_tiny", "adamw", 2, 4, true, 2}, Case{"lenet", "adamw", 1, 3}),
                         [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(RoundRobin, Streams,
                         testing::Values(Case{"lenet", "sgd", 2, 6, false, 1, 1, {2, 1}},
                                         Case{"lenet", "adamw", 3, 8, false, 1, 1, {2, 1, 1}},
                                         Case{"lenet", "adamw", 2, 8, false, 1, 1, {2, 2}},
                                         Case{"lenet", "adamw", 2, 6, false, 1, 1, {1, 3}},
                                         Case{"gpt_tiny", "adamw", 2, 6, false, 1, 1, {2, 2}},
                                         Case{"resnet_tiny", "adamw", 2, 6, false, 1, 1, {3, 1}},
                                         Case{"resnet_tiny", "sgd", 2, 4, false, 1, 1, {1, 2}}),
                         [](const auto& info) { return NameOf(info.param); });

// What a round updates lies as the plan has it: ZeRO's parts, parts of matrices.
TEST(Streams, RoundsAreTheSameWhereverParametersLie) {
  Case c{"gpt_tiny", "adamw", 2, 4, false, 2};
  auto losses_of = [&](const std::string& parallel, int ranks) {
    Job job = JobOf(c);
    job.parallel = parallel;
    job.ranks = ranks;
    job.options.schedule = "pipedream:round-robin";
    Result result = RunJob(job);
    EXPECT_EQ(result.error, "") << parallel;
    return result.losses;
  };
  const std::vector<double> expected = losses_of("pipeline=2,data=2", 4);
  for (const auto& [parallel, ranks] : {std::pair<std::string, int>{"pipeline=2,data=2,zero=2", 4},
                                        {"pipeline=2,data=2,zero=3", 4},
                                        {"pipeline=2,data=2,tensor=2", 8}}) {
    const std::vector<double> found = losses_of(parallel, ranks);
    ASSERT_EQ(found.size(), expected.size()) << parallel;
    for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5 * expected[i]) << parallel;
  }
}

TEST(Streams, StagesThatShareAParameterNeedAsManyReplicas) {
  Result found = RunJob(JobOf({"gpt_tiny", "sgd", 2, 4, false, 1, 1, {2, 1}}));
  EXPECT_NE(found.error.find("has 'wte.weight' on stages 0 and 1, of 2 and 1 replicas that take mini-batches in turn"),
            std::string::npos)
      << found.error;
}

TEST(Streams, RoundsNeedAMiniBatchOfEachReplica) {
  Result found = RunJob(JobOf({"lenet", "sgd", 2, 5, false, 1, 1, {2, 1}}));
  EXPECT_NE(found.error.find("stage 0 has 2 replicas, and there are 5 mini-batches: an update is made of one of each replica"),
            std::string::npos)
      << found.error;
}

// Two large layers, of which each stage keeps one.
constexpr char kTwoLayers[] = R"(
nn.model @two(%x: tensor<?x256xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "w1" init(normal(0.1)) : tensor<256x256xf32>
  %h = nn.linear %x, %w1 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %r = nn.relu %h : tensor<?x256xf32>
  %w2 = nn.param "w2" init(normal(0.1)) : tensor<256x256xf32>
  %y = nn.linear %r, %w2 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %loss = nn.cross_entropy %y, %label : (tensor<?x256xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";

std::vector<int64_t> ArenasOf(const std::string& schedule, int mini_batches) {
  Job job = JobOf({"two", "sgd", 2, mini_batches});
  job.model = kTwoLayers;
  job.batch = 32;  // of any number of mini-batches: samples and activations are the same in all
  job.options.schedule = schedule;
  Result result = RunJob(job);
  EXPECT_EQ(result.error, "");
  return result.arena_bytes_of_ranks;
}

TEST(Streams, OnlyWeightsThatAMiniBatchStillNeedsAreKept) {
  const int64_t weights = 256 * 256 * 4, activations = 32 * 256 * 4;
  std::vector<int64_t> stream = ArenasOf("pipedream", 8), longer = ArenasOf("pipedream", 16);
  ASSERT_EQ(stream.size(), 2u);
  // The first stage has one mini-batch more in flight, with weights of its own.
  EXPECT_GT(stream[0], stream[1] + weights / 2);
  EXPECT_LT(stream[0], stream[1] + weights + activations);
  // Twice as many mini-batches need no more versions.
  for (int stage : {0, 1}) EXPECT_NEAR(longer[stage], stream[stage], activations);
}

}  // namespace
}  // namespace pdc::numerics
