// Ranks load the samples that they compute with, micro-batch by micro-batch.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/numerics/harness.h"
#include "tests/numerics/staged_jobs.h"

namespace pdc::numerics {
namespace {

using Samples = std::map<std::string, int64_t>;

// 7 samples in 3 micro-batches are 3, 2 and 2; of those the first of two replicas has 2, 1 and 1.
TEST(Inputs, AreLoadedByTheStagesAndReplicasThatComputeWithThem) {
  Result found = RunJob(StagedJob("gpt_tiny", 6, "pipeline=3,data=2", 3, "1f1b"));
  ASSERT_EQ(found.error, "");
  EXPECT_EQ(found.samples_of_ranks, (std::vector<Samples>{{{"tokens", 4}}, {{"tokens", 3}}, {}, {}, {{"labels", 4}}, {{"labels", 3}}}));
}

// In opposite directions both stages are first and last, each for half of the micro-batches (7 samples: 2, 2, 2 and 1). The
// number of labels that count is needed of all of them.
TEST(Inputs, OfACopyOfTheModelAreThoseOfItsMicroBatches) {
  Result found = RunJob(StagedJob("gpt_tiny", 2, "pipeline=2", 4, "bidirectional"));
  ASSERT_EQ(found.error, "");
  ASSERT_EQ(found.samples_of_ranks.size(), 2u);
  EXPECT_EQ(found.samples_of_ranks[0].at("tokens") + found.samples_of_ranks[1].at("tokens"), 7);
  EXPECT_EQ(found.samples_of_ranks[0].at("labels"), 7);
}

// A batch of 1 MiB, of which a perceptron makes little.
Job WideJob(int micro_batches) {
  Job job = StagedJob("", 1, "data", micro_batches, "");
  job.model = R"(
nn.model @wide(%x: tensor<?x4096xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(normal(0.02)) : tensor<4096x10xf32>
  %b = nn.param "b" init(zeros) : tensor<10xf32>
  %y = nn.linear %x, %w, %b : (tensor<?x4096xf32>, tensor<4096x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %y, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";
  job.batch = 64;
  job.fields = {{"label", {Field::Kind::kIds, 10}}};
  job.options.optimizer = "sgd";
  return job;
}

constexpr int64_t kBatchBytes = 64 * 4096 * 4;

// A micro-batch is loaded when it is computed with, where another one was.
TEST(Inputs, OfMicroBatchesTakeTheMemoryOfOne) {
  Result whole = RunJob(WideJob(1)), parts = RunJob(WideJob(8));
  ExpectSame(whole, parts);
  EXPECT_GT(whole.arena_bytes, kBatchBytes);
  EXPECT_LT(parts.arena_bytes, whole.arena_bytes - kBatchBytes / 2);
}

}  // namespace
}  // namespace pdc::numerics
