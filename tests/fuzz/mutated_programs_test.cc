// Mutations of what pdc compiles. PDC_SAVE_PAYLOADS=FOLDER keeps the executables' payloads, for a run of
// mutated_pipelines_test with sanitizers, which need not compile the compiler then.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/fuzz/judge.h"
#include "tests/numerics/harness.h"
#include "tests/numerics/plans.h"

namespace pdc::fuzz {
namespace {

Subject Compiled(const std::string& name, const numerics::Job& job) {
  numerics::Compilation compilation = numerics::Compile(job);
  if (compilation.payload.empty()) {
    ADD_FAILURE() << name << ": " << compilation.error;
    return {};
  }
  if (const char* folder = std::getenv("PDC_SAVE_PAYLOADS"))
    std::ofstream(std::string(folder) + "/" + name, std::ios::binary) << compilation.payload;
  auto subject = ReadSubject(name, compilation.payload);
  EXPECT_TRUE(subject.ok()) << subject.status();
  return subject.ok() ? *std::move(subject) : Subject();
}

numerics::Job JobOf(const std::string& model, int64_t batch, int ranks, const std::string& parallel) {
  numerics::Job job;
  job.model = "models/" + model + ".mlir";
  job.batch = batch;
  job.ranks = ranks;
  job.parallel = parallel;
  job.options.cpu = "x86-64-v3";
  return job;
}

// A small network of convolutions whose rows are split: neighbours exchange halos.
constexpr char kConvolutions[] = R"(
nn.model @rows(%image: tensor<?x2x9x8xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "c1" init(kaiming) : tensor<4x2x3x3xf32>
  %w2 = nn.param "c2" init(kaiming) : tensor<3x4x3x3xf32>
  %w3 = nn.param "fc" init(kaiming) : tensor<216x5xf32>
  %0 = nn.conv2d %image, %w1 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x2x9x8xf32>, tensor<4x2x3x3xf32>) -> tensor<?x4x9x8xf32>
  %1 = nn.relu %0 : tensor<?x4x9x8xf32>
  %2 = nn.conv2d %1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x4x9x8xf32>, tensor<3x4x3x3xf32>) -> tensor<?x3x9x8xf32>
  %3 = nn.reshape %2 : tensor<?x3x9x8xf32> to tensor<?x216xf32>
  %4 = nn.linear %3, %w3 : (tensor<?x216xf32>, tensor<216x5xf32>) -> tensor<?x5xf32>
  %loss = nn.cross_entropy %4, %label : (tensor<?x5xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
)";

Subject HaloExchange() {
  numerics::Job job = JobOf("", 2, 3, "data");
  job.model = kConvolutions;
  job.plan = numerics::FollowingPlan({{"rows"}, {3}}, [](const numerics::ArgumentInfo& info) {
    numerics::DimAxes dims(info.shape.size());
    if (info.name == "image") dims[2] = {"rows"};
    return dims;
  });
  return Compiled("halo", job);
}

TEST(MutatedPrograms, OfDataParallelTraining) {
  ExpectMutationsAreRefusedOrRun(Compiled("lenet", JobOf("lenet", 4, 2, "data")), 200);
}

TEST(MutatedPrograms, OfTensorParallelTraining) {
  ExpectMutationsAreRefusedOrRun(Compiled("gpt_tiny", JobOf("gpt_tiny", 1, 2, "tensor")), 150);
}

TEST(MutatedPrograms, OfExperts) {
  ExpectMutationsAreRefusedOrRun(Compiled("moe_tiny", JobOf("moe_tiny", 2, 2, "data")), 150);
}

numerics::Job PipelineOf(const std::string& model, int64_t batch, int ranks, int stages, int micro_batches,
                         const std::string& schedule) {
  numerics::Job job = JobOf(model, batch, ranks, "pipeline=" + std::to_string(stages));
  job.options.microBatches = micro_batches;
  job.options.schedule = schedule;
  return job;
}

TEST(MutatedPrograms, OfAPipeline) {
  ExpectMutationsAreRefusedOrRun(Compiled("lenet_1f1b", PipelineOf("lenet", 5, 3, 3, 4, "1f1b")), 150);
}

TEST(MutatedPrograms, OfAPipelineWithReplicas) {
  ExpectMutationsAreRefusedOrRun(Compiled("lenet_zb", PipelineOf("lenet", 6, 4, 2, 3, "zb-h2")), 100);
}

TEST(MutatedPrograms, OfReplicasThatTakeTurns) {
  numerics::Job job = PipelineOf("lenet", 4, 3, 2, 4, "1f1b:round-robin");
  job.parallel = "pipeline=2:1";
  ExpectMutationsAreRefusedOrRun(Compiled("lenet_turns", job), 100);
}

TEST(MutatedPrograms, OfAnInterleavedPipelineWithBatchNorm) {
  ExpectMutationsAreRefusedOrRun(
      Compiled("resnet_interleaved", PipelineOf("resnet_tiny", 4, 2, 2, 4, "interleaved:chunks=3")), 60);
}

TEST(MutatedPrograms, OfHaloExchange) { ExpectMutationsAreRefusedOrRun(HaloExchange(), 200); }

}  // namespace
}  // namespace pdc::fuzz

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  pdc::fuzz::TellWhatCrashed();
  return RUN_ALL_TESTS();
}
