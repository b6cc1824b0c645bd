//===- instruction_cost_test.cpp - the time of a rank program, by hand -------===//

#include "compiler/cost/InstructionCost.h"
#include "compiler/simulate/ClusterCosts.h"
#include "tests/compiler/cost/clusters.h"
#include "gtest/gtest.h"

using namespace pdc;
using namespace pdc::cost;
using namespace pdc::program;
using machine::Cluster;
using machine::OpClass;

/// Rank programs on four devices in a row.
static simulate::RankSimulation simulateRow(const std::vector<const ProgramT *> &programs, double overlap) {
  Cluster cluster = test::row(4, "latency: 0, bandwidth: 100 MB/s");
  cluster.overlap = overlap;
  auto model = llvm::cantFail(makeCostModel("native", cluster));
  return simulate::simulateRanks(programs, simulate::costsOnCluster(cluster, *model, {}));
}

/// Writes a rank program, instruction by instruction.
class Writer {
public:
  Writer() {
    auto group = std::make_unique<GroupT>();
    group->ranks = {0, 1, 2, 3};
    program.groups.push_back(std::move(group));
  }

  InstructionT &add(Opcode opcode, const std::string &target) {
    program.instructions.push_back(std::make_unique<InstructionT>());
    InstructionT &instruction = *program.instructions.back();
    instruction.opcode = opcode;
    instruction.target = target;
    return instruction;
  }

  /// Takes `seconds` on a device of 1 TFLOP/s (a quarter of which vector code reaches) and launches of 2 us.
  void compute(double seconds) { add(Opcode::kKernel, "k").flops = (seconds - 2e-6) * 0.25e12; }

  /// Starts a collective of `elements` f32 in place over all four ranks.
  int32_t start(const std::string &collective, int64_t elements) {
    InstructionT &instruction = add(Opcode::kCollectiveStart, collective);
    instruction.group = 0;
    operand(instruction, Access::kReadWrite, {elements});
    return static_cast<int32_t>(program.instructions.size()) - 1;
  }

  void done(int32_t start) { add(Opcode::kCollectiveDone, "").start_index = start; }

  static void operand(InstructionT &instruction, Access access, std::vector<int64_t> shape,
                      ElementType type = ElementType::kF32) {
    instruction.operands.push_back(std::make_unique<OperandT>());
    instruction.operands.back()->access = access;
    instruction.operands.back()->shape = std::move(shape);
    instruction.operands.back()->element_type = type;
  }

  /// The step of four ranks in a row that all run this program.
  simulate::RankSimulation simulate(double overlap) const { return simulateRow({&program, &program, &program, &program}, overlap); }

  ProgramT program;
};

// 250,000 elements of 4 bytes: 2 * 3/4 * 1 MB at 100 MB/s.
static constexpr double kAllReduce = 15e-3;

TEST(Step, AddsUpWhatARankComputes) {
  Writer w;
  w.compute(3e-3);
  w.compute(4e-3);
  simulate::RankSimulation step = w.simulate(1);
  EXPECT_NEAR(step.seconds, 7e-3, 1e-9);
  EXPECT_NEAR(step.ranks[0].busySeconds, 7e-3, 1e-9);
  EXPECT_EQ(step.ranks[0].exposedSeconds, 0);
}

TEST(Step, HidesACollectiveBehindCompute) {
  Writer w;
  int32_t start = w.start("all_reduce", 250'000);
  w.compute(20e-3);
  w.done(start);
  simulate::RankSimulation step = w.simulate(1);
  EXPECT_NEAR(step.seconds, 20e-3, 1e-9);
  EXPECT_NEAR(step.ranks[0].exposedSeconds, 0, 1e-9);
}

TEST(Step, WaitsForWhatComputeDoesNotHide) {
  Writer w;
  int32_t start = w.start("all_reduce", 250'000);
  w.compute(5e-3);
  w.done(start);
  simulate::RankSimulation step = w.simulate(1);
  EXPECT_NEAR(step.seconds, kAllReduce, 1e-9);
  EXPECT_NEAR(step.ranks[0].exposedSeconds, kAllReduce - 5e-3, 1e-9);
}

TEST(Step, CollectivesFollowEachOther) {
  Writer w;
  int32_t first = w.start("all_reduce", 250'000), second = w.start("all_reduce", 250'000);
  w.done(first);
  w.done(second);
  EXPECT_NEAR(w.simulate(1).seconds, 2 * kAllReduce, 1e-9);
}

TEST(Step, WithoutOverlapTheRankCommunicatesItself) {
  Writer w;
  int32_t start = w.start("all_reduce", 250'000);
  w.compute(20e-3);
  w.done(start);
  simulate::RankSimulation none = w.simulate(0), half = w.simulate(0.5);
  EXPECT_NEAR(none.seconds, 20e-3 + kAllReduce, 1e-9);
  EXPECT_NEAR(none.ranks[0].exposedSeconds, kAllReduce, 1e-9);
  EXPECT_NEAR(half.seconds, 20e-3 + kAllReduce / 2, 1e-9);
}

TEST(Step, AGatherCountsItsResult) {
  Writer w;
  InstructionT &instruction = w.add(Opcode::kCollectiveStart, "all_gather");
  instruction.group = 0;
  Writer::operand(instruction, Access::kRead, {62'500});
  Writer::operand(instruction, Access::kWrite, {250'000});
  w.done(0);
  EXPECT_NEAR(w.simulate(1).seconds, kAllReduce / 2, 1e-9);
}

TEST(Step, ASendTakesOneMessage) {
  Writer sender, receiver, idle;
  for (auto [writer, opcode, peer] : {std::tuple(&sender, Opcode::kSend, 2), {&receiver, Opcode::kReceive, 0}}) {
    InstructionT &message = writer->add(opcode, "");
    message.peer = peer;
    Writer::operand(message, opcode == Opcode::kSend ? Access::kRead : Access::kWrite, {250'000});
    writer->done(0);
  }
  simulate::RankSimulation step =
      simulateRow({&sender.program, &idle.program, &receiver.program, &idle.program}, 1);
  EXPECT_NEAR(step.seconds, 10e-3, 1e-9);
}

TEST(WorkOf, LibraryCallsHaveTheClassOfTheirName) {
  Writer w;
  for (auto [target, opClass] : {std::pair("matmul", OpClass::Matmul),
                                 {"conv2d_grad_weight", OpClass::Convolution},
                                 {"embedding_grad", OpClass::Gather},
                                 {"max_pool2d", OpClass::Pooling},
                                 {"copy_view", OpClass::Copy},
                                 {"transpose", OpClass::Copy}})
    EXPECT_EQ(workOf(w.add(Opcode::kLibrary, target)).opClass, opClass) << target;
  EXPECT_EQ(workOf(w.add(Opcode::kKernel, "fusion_3")).opClass, OpClass::Elementwise);
  EXPECT_EQ(workOf(w.add(Opcode::kFill, "")).opClass, OpClass::Copy);
}

TEST(WorkOf, ChannelsAreThoseThatLieInAVector) {
  Writer w;
  auto call = [&](const char *target, std::vector<std::vector<int64_t>> shapes) {
    InstructionT &instruction = w.add(Opcode::kLibrary, target);
    for (auto &shape : shapes)
      Writer::operand(instruction, &shape == &shapes.back() ? Access::kWrite : Access::kRead, shape);
    return workOf(instruction).channels;
  };
  std::vector<int64_t> x{2, 6, 8, 8}, w0{16, 6, 3, 3}, y{2, 16, 8, 8}, image{2, 3, 8, 8};
  EXPECT_EQ(call("conv2d", {x, w0, y}), 16);
  EXPECT_EQ(call("conv2d_grad_input", {y, w0, x}), 6);
  EXPECT_EQ(call("conv2d_grad_weight", {x, y, w0}), 6);
  EXPECT_EQ(call("conv2d_grad_weight", {image, y, {16, 3, 3, 3}}), 16);
  EXPECT_EQ(call("max_pool2d", {x, {2, 6, 4, 4}}), 6);
  EXPECT_EQ(call("matmul", {{4, 4}, {4, 4}, {4, 4}}), 0);
}

TEST(WorkOf, WhatIsOnlyWrittenIsFetchedFirst) {
  Writer w;
  InstructionT &kernel = w.add(Opcode::kKernel, "k");
  kernel.traffic_bytes = 4000;
  Writer::operand(kernel, Access::kRead, {100});
  Writer::operand(kernel, Access::kReadWrite, {200});
  Writer::operand(kernel, Access::kWrite, {300});
  OpWork work = workOf(kernel, {}, 5e6);
  EXPECT_EQ(work.bytesRead, 4000);
  EXPECT_EQ(work.bytesFetched, 1200);
  EXPECT_EQ(work.workingSetBytes, 5e6);
}

TEST(WorkOf, ACallIsNamedByItsOperands) {
  Writer w;
  InstructionT &matmul = w.add(Opcode::kLibrary, "matmul");
  Writer::operand(matmul, Access::kRead, {64, 256}, ElementType::kBF16);
  Writer::operand(matmul, Access::kRead, {256, 8}, ElementType::kBF16);
  Writer::operand(matmul, Access::kWrite, {64, 8});
  EXPECT_EQ(workOf(matmul).call, "matmul(64x256:bf16, 256x8:bf16, 64x8:f32)");
  EXPECT_EQ(workOf(matmul).precision, machine::Precision::BF16);
}

TEST(WorkOf, AKernelThatIsKnownTakesItsOperations) {
  Writer w;
  InstructionT &kernel = w.add(Opcode::kKernel, "fusion_3");
  kernel.flops = 5;
  EXPECT_EQ(workOf(kernel, {{"fusion_3", 60}}).flops, 60);
  EXPECT_EQ(workOf(kernel, {{"fusion_4", 60}}).flops, 5);
}
