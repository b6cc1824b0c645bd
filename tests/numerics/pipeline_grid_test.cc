// The grid of schedules, stages, replicas, tensor parallelism and micro-batches: each cell gives the losses of one device.
// A few cells by default; so many, from this one on, or every cell:
//
//   PDC_PIPELINES=20 PDC_PIPELINE_SEED=1 bazel run //tests/numerics:pipeline_grid_test
//   PDC_PIPELINES=all bazel run //tests/numerics:pipeline_grid_test
//   PDC_PIPELINES=all PDC_PIPELINE_SCHEDULE=zb bazel run //tests/numerics:pipeline_grid_test   # schedules that begin so
//
// A cell that fails is run again by its seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tests/numerics/harness.h"

namespace pdc::numerics {
namespace {

constexpr int kSteps = 5;
// Largest difference of a loss from that of one device, as a share of it.
constexpr double kTolerance = 1e-5;

struct Cell {
  std::string schedule;
  int stages, data, tensor, micro_batches;
};

std::string NameOf(const Cell& c) {
  return c.schedule + ", " + std::to_string(c.stages) + " stages, data " + std::to_string(c.data) + ", tensor " +
                     std::to_string(c.tensor) + ", " + std::to_string(c.micro_batches) + " micro-batches";
}

// A table that is embedding and head, residual blocks with dropout, masked labels.
std::string TiedModel() {
  constexpr int kBlocks = 12;
  const std::string wide = "tensor<?x4x32xf32>", narrow = "tensor<?x4x16xf32>", ids = "tensor<?x4xi32>";
  std::string text = "nn.model @tied(%tokens: " + ids + " {nn.dims = [\"batch\", \"sequence\"]}, %labels: " + ids +
                     ") -> (loss: tensor<f32>) {\n"
                     "  %wte = nn.param \"wte\" init(normal(0.3)) : tensor<32x16xf32>\n"
                     "  %x0 = nn.embedding %wte, %tokens : (tensor<32x16xf32>, " + ids + ") -> " + narrow + "\n";
  for (int i = 0; i < kBlocks; ++i) {
    const std::string n = std::to_string(i);
    text += "  %w" + n + " = nn.param \"w" + n + "\" init(normal(0.2)) : tensor<16x16xf32>\n" +
            "  %h" + n + " = nn.linear %x" + n + ", %w" + n + " : (" + narrow + ", tensor<16x16xf32>) -> " + narrow + "\n" +
            "  %g" + n + " = nn.gelu %h" + n + " : " + narrow + "\n" +
            "  %d" + n + " = nn.dropout %g" + n + " {rate = 0.2 : f64} : (" + narrow + ") -> " + narrow + "\n" +
            "  %x" + std::to_string(i + 1) + " = nn.add %x" + n + ", %d" + n + " : (" + narrow + ", " + narrow + ") -> " +
            narrow + "\n";
  }
  return text + "  %logits = nn.linear %x" + std::to_string(kBlocks) + ", %wte {transpose_weight} : (" + narrow +
         ", tensor<32x16xf32>) -> " + wide + "\n  %loss = nn.cross_entropy %logits, %labels : (" + wide + ", " + ids +
         ") -> tensor<f32>\n  nn.return %loss : tensor<f32>\n}\n";
}

// The batch is one sample more than what every replica needs in every micro-batch: uneven parts, and with tensor parallelism
// fewer samples than a stage has ranks.
Job JobOf(const std::string& model, const Cell& c, bool alone) {
  using Kind = Field::Kind;
  Job job;
  job.model = "models/" + model + ".mlir";
  job.steps = kSteps;
  job.batch = c.micro_batches * c.data + 1;
  job.options.optimizer = "adamw";
  job.options.kernelOptimization = 0;
  job.fields = {{"tokens", {Kind::kIds, 256}}, {"labels", {Kind::kIds, 256, 0.7}}};
  if (model == "tied") {
    job.model = TiedModel();
    job.fields = {{"tokens", {Kind::kIds, 32}}, {"labels", {Kind::kIds, 32, 0.7}}};
    job.options.clipNorm = 0.05;
  } else if (model == "resnet_tiny") {
    job.fields = {{"label", {Kind::kIds, 10}}};
    job.options.optimizer = "momentum";
    job.learning_rate = 0.02;
  }
  if (!alone) {
    job.ranks = c.stages * c.data * c.tensor;
    job.parallel = "data=" + std::to_string(c.data) + ",tensor=" + std::to_string(c.tensor) +
                   ",pipeline=" + std::to_string(c.stages);
    job.options.schedule = c.schedule;
    job.options.microBatches = c.micro_batches;
  } else if (model == "resnet_tiny") {
    job.options.microBatches = c.micro_batches;  // batch_norm's statistics are those of each micro-batch
  }
  return job;
}

// Micro-batches change from cell to cell, so that all of 1 to 16 occur with all of the others.
int MicroBatches(const std::string& schedule, int stages, size_t cell) {
  int wanted = static_cast<int>(cell * 7 % 16) + 1;
  const bool in_rounds = schedule.starts_with("interleaved");
  const int unit = in_rounds ? stages : schedule == "bidirectional" ? 2 : 1;
  return std::min((wanted + unit - 1) / unit * unit, 16 / unit * unit);
}

std::vector<Cell> Grid() {
  std::vector<Cell> cells;
  for (int stages : {2, 3, 4, 6})
    for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "bidirectional"})
      for (int data : {1, 2, 3})
        for (int tensor : {1, 2}) {
          if (schedule == std::string("bidirectional") && stages % 2 != 0) continue;
          cells.push_back({schedule, stages, data, tensor, MicroBatches(schedule, stages, cells.size())});
        }
  // Replicas that take micro-batches in turn: at least one each.
  for (int stages : {2, 3, 4, 6})
    for (const char* schedule : {"gpipe:round-robin", "1f1b:round-robin"})
      for (int data : {2, 3})
        for (int tensor : {1, 2})
          cells.push_back({schedule, stages, data, tensor, std::max(data, MicroBatches(schedule, stages, cells.size()))});
  return cells;
}

// In an order in which neighbours differ in everything.
std::vector<Cell> SomeCells() {
  std::vector<Cell> grid = Grid(), cells;
  const char* wanted = std::getenv("PDC_PIPELINES");
  const char* seed = std::getenv("PDC_PIPELINE_SEED");
  const size_t count = !wanted ? 2 : std::string(wanted) == "all" ? grid.size() : std::strtoull(wanted, nullptr, 10);
  size_t stride = grid.size() * 382 / 1000;
  while (std::gcd(stride, grid.size()) != 1) ++stride;
  // 3 samples a micro-batch for 6 ranks: alone, ops would be split by samples over all of them.
  if (!wanted) cells.push_back({"1f1b", 2, 3, 2, 4});
  for (size_t i = 0; i < std::min(count, grid.size()); ++i)
    cells.push_back(grid[((seed ? std::strtoull(seed, nullptr, 10) : 1) + i) * stride % grid.size()]);
  if (const char* schedule = std::getenv("PDC_PIPELINE_SCHEDULE"))
    std::erase_if(cells, [&](const Cell& cell) { return !std::string(cell.schedule).starts_with(schedule); });
  return cells;
}

class PipelineGrid : public testing::TestWithParam<const char*> {};

TEST_P(PipelineGrid, GivesTheLossesOfOneDevice) {
  const std::string model = GetParam();
  std::map<std::pair<int64_t, int64_t>, Result> alone;  // by batch and micro-batches
  double largest = 0;
  int ran = 0;
  for (const Cell& cell : SomeCells()) {
    SCOPED_TRACE(model + ": " + NameOf(cell));
    Job one = JobOf(model, cell, true);
    Result& expected = alone[{one.batch, one.options.microBatches.value_or(1)}];
    if (expected.losses.empty()) expected = RunJob(one);
    ASSERT_EQ(expected.error, "");
    Result found = RunJob(JobOf(model, cell, false));
    EXPECT_EQ(found.error, "");
    if (!found.error.empty()) continue;  // each cell that fails is told
    double of_cell = 0;
    for (const std::vector<double>& losses : found.losses_of_ranks) {
      ASSERT_EQ(losses.size(), size_t{kSteps});
      for (int step = 0; step < kSteps; ++step)
        of_cell = std::max(of_cell, std::abs(losses[step] - expected.losses[step]) / std::abs(expected.losses[step]));
    }
    EXPECT_LE(of_cell, kTolerance);
    std::printf("%s: %s: %.1e\n", model.c_str(), NameOf(cell).c_str(), of_cell);
    largest = std::max(largest, of_cell);
    ++ran;
  }
  std::printf("%s: largest relative difference of a loss in %d cells: %.1e\n", model.c_str(), ran, largest);
}

INSTANTIATE_TEST_SUITE_P(Models, PipelineGrid, testing::Values("gpt_tiny", "resnet_tiny", "tied"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace pdc::numerics
