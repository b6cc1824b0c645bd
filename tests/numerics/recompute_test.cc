// What the backward pass computes again is what the forward pass had: the same losses, gradients and states, in
// smaller arenas. With normalization, whose running statistics move once, and with dropout, whose masks are the same.
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "dialects/dist/IR/PipelineAttributes.h"
#include "tests/numerics/harness.h"
#include "tests/numerics/staged_jobs.h"

namespace pdc::numerics {
namespace {

using dist::Recompute;

struct Case {
  std::string model;  // "dropout": that of staged_jobs.h
  std::vector<Recompute> recompute;
  int stages = 1, data = 1, tensor = 1, micro_batches = 1;
  std::string schedule = "";
  std::string precision = "f32";
  int zero = 0;
  int ranks() const { return stages * data * tensor; }
};

std::string NameOf(const Case& c) {
  std::string name = c.model;
  for (Recompute word : c.recompute) name += std::string("_") + dist::toString(word);
  name += "_p" + std::to_string(c.stages) + "_d" + std::to_string(c.data) + "_t" + std::to_string(c.tensor) + "_m" +
          std::to_string(c.micro_batches) + "_" + c.schedule + "_" + c.precision + (c.zero > 0 ? "_zero" + std::to_string(c.zero) : "");
  for (char& letter : name)
    if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
  return name;
}

Job JobOf(const Case& c) {
  const std::string parallel = c.ranks() == 1 ? "data"
                                              : "data=" + std::to_string(c.data) + ",tensor=" + std::to_string(c.tensor) +
                                                    ",pipeline=" + std::to_string(c.stages) + ",zero=" + std::to_string(c.zero);
  Job job = c.model == "dropout" ? DropoutJob(c.ranks(), parallel, c.micro_batches, "adamw", c.schedule)
                                 : StagedJob(c.model, c.ranks(), parallel, c.micro_batches, c.schedule);
  job.steps = 4;
  job.options.recompute = c.recompute;
  job.options.precision = c.precision;
  if (c.schedule == "pipedream") job.options.clipNorm = 0;
  return job;
}

int64_t Sum(const std::vector<int64_t>& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

class Recomputation : public testing::TestWithParam<Case> {};

TEST_P(Recomputation, GivesTheNumbersOfAStepThatKeepsEverything) {
  Case keeps = GetParam();
  keeps.recompute = {};
  const Result expected = RunJob(JobOf(keeps)), found = RunJob(JobOf(GetParam()));
  ExpectSame(expected, found, GetParam().precision);
  // Before the first update nothing differs, though kernels of the backward pass are made of other ops; in bf16 what is inside
  // of a kernel is not rounded.
  if (GetParam().precision == "f32") EXPECT_EQ(found.losses.front(), expected.losses.front());
  ASSERT_EQ(found.state.size(), expected.state.size());
  for (const auto& [name, state] : expected.state)
    EXPECT_LT(RelativeDifference(found.state.at(name), state), GetParam().precision == "f32" ? 1e-4 : 0.1) << name;
  // The network with dropout is one layer deep: there is nothing to be won.
  if (GetParam().model == "dropout") return;
  ASSERT_EQ(found.arena_bytes_of_ranks.size(), expected.arena_bytes_of_ranks.size());
  // In zero-bubble schedules what is computed again for I is kept until W, which is worth little to the last stage.
  for (size_t rank = 0; rank < found.arena_bytes_of_ranks.size() && !GetParam().schedule.starts_with("zb"); ++rank)
    EXPECT_LE(found.arena_bytes_of_ranks[rank], expected.arena_bytes_of_ranks[rank]) << "rank " << rank;
  EXPECT_LT(Sum(found.arena_bytes_of_ranks), Sum(expected.arena_bytes_of_ranks));
  std::printf("%s: %.3f of the bytes\n", NameOf(GetParam()).c_str(),
              static_cast<double>(Sum(found.arena_bytes_of_ranks)) / static_cast<double>(Sum(expected.arena_bytes_of_ranks)));
}

constexpr Recompute kNone = Recompute::None, kFull = Recompute::Full, kSelective = Recompute::Selective;

INSTANTIATE_TEST_SUITE_P(OneRank, Recomputation,
                         testing::Values(Case{"gpt_tiny", {kFull}}, Case{"gpt_tiny", {kSelective}, 1, 1, 1, 3},
                                         Case{"resnet_tiny", {kFull}}, Case{"resnet_tiny", {kSelective}, 1, 1, 1, 3},
                                         Case{"dropout", {kFull}}, Case{"gpt_tiny", {kFull}, 1, 1, 1, 1, "", "bf16"}),
                         [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(
    Pipelines, Recomputation,
    testing::Values(Case{"gpt_tiny", {kFull}, 2, 1, 1, 4, "1f1b"}, Case{"gpt_tiny", {kSelective, kFull}, 2, 1, 1, 4, "zb-h1"},
                    Case{"gpt_tiny", {kFull, kNone}, 2, 1, 2, 4, "1f1b"}, Case{"gpt_tiny", {kFull}, 2, 1, 1, 4, "interleaved"},
                    Case{"gpt_tiny", {kFull}, 2, 1, 1, 4, "bidirectional"}, Case{"resnet_tiny", {kFull}, 2, 1, 1, 4, "zb-h1"},
                    Case{"dropout", {kFull}, 2, 1, 1, 4, "1f1b"}, Case{"gpt_tiny", {kFull}, 2, 1, 1, 4, "pipedream"}),
    [](const auto& info) { return NameOf(info.param); });

INSTANTIATE_TEST_SUITE_P(Ranks, Recomputation,
                         testing::Values(Case{"gpt_tiny", {kFull}, 1, 2, 1}, Case{"gpt_tiny", {kSelective}, 1, 1, 2},
                                         Case{"gpt_tiny", {kFull}, 1, 2, 1, 1, "", "f32", 3}),
                         [](const auto& info) { return NameOf(info.param); });

TEST(Recomputation, OnStagesIsThatOfOneDevice) {
  Result alone = RunJob(JobOf({"gpt_tiny", {}}));
  ExpectSame(alone, RunJob(JobOf({"gpt_tiny", {kFull}, 2, 1, 1, 4, "1f1b"})));
  ExpectSame(alone, RunJob(JobOf({"gpt_tiny", {kSelective}, 2, 2, 1, 2, "zb-h1"})));
}

TEST(Recomputation, IsOfTheStagesThatAreNamed) {
  const Result none = RunJob(JobOf({"gpt_tiny", {}, 2, 1, 1, 4, "gpipe"})),
               first = RunJob(JobOf({"gpt_tiny", {kFull, kNone}, 2, 1, 1, 4, "gpipe"}));
  ASSERT_EQ(none.error + first.error, "");
  EXPECT_LT(first.arena_bytes_of_ranks[0], none.arena_bytes_of_ranks[0]);
  EXPECT_EQ(first.arena_bytes_of_ranks[1], none.arena_bytes_of_ranks[1]);
}

TEST(Recomputation, AListOfAnotherLengthIsRefused) {
  const Compilation compiled = Compile(JobOf({"gpt_tiny", {kFull, kNone}, 1, 1, 1, 2}));
  EXPECT_NE(compiled.error.find("a word for each of 2 stages, and the plan has 1 stage"), std::string::npos) << compiled.error;
}

}  // namespace
}  // namespace pdc::numerics
