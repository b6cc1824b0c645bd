//===- ParallelTest.cpp - from a model to checked rank programs -----------===//
//
// Models of every family go through autodiff, the data-parallel plan, partition, bucket, lower and memory;
// the programs are written and held against every rule of runtime/program/checker.h.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/program/RankPrograms.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Registration.h"
#include "passes/memory/MemoryPass.h"
#include "runtime/program/checker.h"
#include "runtime/program/reader.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pdc;
using testing::HasSubstr;

namespace {

class ParallelTest : public testing::Test {
protected:
  ParallelTest() {
    static bool registered = (registerAllPasses(), true);
    (void)registered;
    context.loadDialect<nn::NNDialect, dist::DistDialect, rt::RtDialect>();
    context.disableMultithreading();
  }

  OwningOpRef<ModuleOp> parse(StringRef text) { return parseSourceString<ModuleOp>(text, &context); }

  /// False with `messages` where the pipeline fails.
  bool run(ModuleOp module, const std::string &pipeline) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      messages += diagnostic.str() + "\n";
      return success();
    });
    PassManager manager(&context);
    if (failed(parsePassPipeline(pipeline, manager)))
      return false;
    return succeeded(manager.run(module));
  }

  /// The model's steps on local shapes.
  OwningOpRef<ModuleOp> partitioned(const std::string &model, int64_t batch, int64_t ranks) {
    OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>("models/" + model + ".mlir", &context);
    EXPECT_TRUE(module) << model;
    EXPECT_TRUE(run(*module, "specialize{batch=" + std::to_string(batch) +
                                 "},decompose{stage=before-autodiff},autodiff{optimizer=adamw},"
                                 "plan-data-parallel{ranks=" +
                                 std::to_string(ranks) + "},partition,verify-partitioned"))
        << messages;
    return module;
  }

  static nn::StepOp step(ModuleOp module, StringRef name) { return module.lookupSymbol<nn::StepOp>(name); }

  template <typename OpT> static int count(Operation *root) {
    int n = 0;
    root->walk([&](OpT) { ++n; });
    return n;
  }

  MLIRContext context;
  std::string messages;
};

/// Every elementwise op and reduction in a fusion of its own: the simplest correct fusion.
void fuseEachOp(ModuleOp module) {
  SmallVector<Operation *> ops;
  for (nn::StepOp step : module.getOps<nn::StepOp>())
    for (Operation &op : step.getBody().front())
      if (isa<nn::ElementwiseOpInterface, nn::ReduceSumOp, nn::ReduceMaxOp>(op))
        ops.push_back(&op);
  for (Operation *op : ops) {
    OpBuilder b(op);
    OperationState state(op->getLoc(), nn::FusionOp::getOperationName());
    state.addOperands(op->getOperands());
    state.addTypes(op->getResultTypes());
    Region *body = state.addRegion();
    Block *block = new Block;
    body->push_back(block);
    OpBuilder inner(op->getContext()); // the block is in no op yet
    inner.setInsertionPointToStart(block);
    SmallVector<Value> arguments;
    for (Value operand : op->getOperands())
      arguments.push_back(block->addArgument(operand.getType(), operand.getLoc()));
    Operation *clone = inner.clone(*op);
    clone->setOperands(arguments);
    nn::YieldOp::create(inner, op->getLoc(), clone->getResults());
    Operation *fusion = b.create(state);
    op->replaceAllUsesWith(fusion->getResults());
    op->erase();
  }
}

} // namespace

//===----------------------------------------------------------------------===//
// Partition
//===----------------------------------------------------------------------===//

TEST_F(ParallelTest, SixteenSamplesOverThreeRanksAreSixFiveFive) {
  auto module = partitioned("mlp", 16, 3);
  nn::StepOp first = step(*module, "train"), second = step(*module, "train_1");
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(step(*module, "train_2"));
  EXPECT_EQ(first->getAttrOfType<DenseI64ArrayAttr>("dist.ranks").asArrayRef(), ArrayRef<int64_t>({0}));
  EXPECT_EQ(second->getAttrOfType<DenseI64ArrayAttr>("dist.ranks").asArrayRef(), ArrayRef<int64_t>({1, 2}));
  auto samples = [](nn::StepOp of) {
    for (unsigned i = 0; i < of.getNumArguments(); ++i)
      if (of.getArgAttrOfType<StringAttr>(i, "nn.role").getValue() == "input")
        return cast<RankedTensorType>(of.getArgumentTypes()[i]).getDimSize(0);
    return int64_t{-1};
  };
  EXPECT_EQ(samples(first), 6);
  EXPECT_EQ(samples(second), 5);
}

TEST_F(ParallelTest, OneRankNeedsNoCollectives) {
  auto module = partitioned("mlp", 4, 1);
  EXPECT_EQ(count<dist::AllReduceOp>(*module), 0);
}

TEST_F(ParallelTest, EachGradientIsReducedOnceAndTheReferenceNotAtAll) {
  auto module = partitioned("mlp", 4, 2);
  // Six parameters, and the sums that loss and accuracy are made of.
  int reduced = count<dist::AllReduceOp>(step(*module, "gradient"));
  EXPECT_GE(reduced, 7);
  EXPECT_LE(reduced, 10);
  ASSERT_TRUE(step(*module, "reference_gradient"));
  EXPECT_EQ(count<dist::AllReduceOp>(step(*module, "reference_gradient")), 0);
}

TEST_F(ParallelTest, OutputsOfInferenceStaySplit) {
  auto module = partitioned("mlp", 4, 2);
  nn::StepOp infer = step(*module, "infer");
  EXPECT_EQ(count<dist::AllReduceOp>(infer), 0);
  EXPECT_EQ(cast<RankedTensorType>(infer.getResultTypes()[0]).getDimSize(0), 2);
}

TEST_F(ParallelTest, ABatchSmallerThanTheNumberOfRanksIsRefused) {
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>("models/mlp.mlir", &context);
  EXPECT_FALSE(run(*module, "specialize{batch=2},decompose,autodiff,plan-data-parallel{ranks=3}"));
  EXPECT_THAT(messages, HasSubstr("a batch of 2 for 3 ranks"));
}

TEST_F(ParallelTest, AnAxisThatTheMeshLacksIsRefused) {
  auto module = parse(R"(
    dist.mesh @mesh axes(["data" = 2])
    nn.step "infer" @infer(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["model"], []]>})
        -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[["model"], []]>})
        attributes {dist.mesh = @mesh} {
      nn.return %x : tensor<4x2xf32>
    })");
  ASSERT_TRUE(module);
  EXPECT_FALSE(run(*module, "partition"));
  EXPECT_THAT(messages, HasSubstr("has no axis \"model\""));
}

//===----------------------------------------------------------------------===//
// Bucket
//===----------------------------------------------------------------------===//

TEST_F(ParallelTest, AllGradientsOfASmallModelTravelInOneBucket) {
  auto module = partitioned("mlp", 4, 2);
  ASSERT_TRUE(run(*module, "bucket")) << messages;
  int buckets = 0, urgent = 0;
  step(*module, "gradient").walk([&](dist::AllReduceOp reduce) {
    ++(reduce.getBucket() ? buckets : urgent);
  });
  EXPECT_EQ(buckets, 1);
  // The number of labels that count: the gradient of their mean needs it.
  EXPECT_EQ(urgent, 1);
}

TEST_F(ParallelTest, ABucketStartsWhenItIsFull) {
  auto module = partitioned("mlp", 4, 2);
  ASSERT_TRUE(run(*module, "bucket{bytes=1}")) << messages;
  nn::StepOp gradient = step(*module, "gradient");
  int64_t next = 0;
  gradient.walk([&](dist::AllReduceOp reduce) {
    EXPECT_EQ(reduce.getInputs().size(), 1u);
    if (reduce.getBucket())
      EXPECT_EQ(*reduce.getBucket(), next++);
  });
  EXPECT_GE(next, 6);
}

//===----------------------------------------------------------------------===//
// The whole way
//===----------------------------------------------------------------------===//

struct Case {
  std::string model;
  int64_t batch, ranks;
};

class RankProgramsTest : public ParallelTest, public testing::WithParamInterface<Case> {};

TEST_P(RankProgramsTest, ObeyEveryRuleOfTheChecker) {
  auto [model, batch, ranks] = GetParam();
  auto module = partitioned(model, batch, ranks);
  ASSERT_TRUE(run(*module, "bucket{bytes=100000},decompose{stage=before-fusion}")) << messages;
  fuseEachOp(*module);
  ASSERT_TRUE(run(*module, "lower,verify-lowered")) << messages;
  PassManager manager(&context);
  manager.addPass(passes::createMemoryPass([](const program::InstructionT &, std::string &) { return 100; }));
  ASSERT_TRUE(succeeded(manager.run(*module)));
  ASSERT_TRUE(run(*module, "verify-lowered{placed=true}")) << messages;

  codegen::RankProgramsOptions options;
  for (rt::DefineOp define : module->getOps<rt::DefineOp>())
    options.kernels[define.getSymName().str()] = {define.getSymName().str(), 1};
  program::ExecutableT executable;
  executable.threads = 1;
  ASSERT_TRUE(succeeded(codegen::writeRankPrograms(*module, options, executable)));
  EXPECT_EQ(executable.ranks, ranks);
  std::string bytes = program::WriteExecutable(executable);
  auto read = program::ReadExecutable(bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(program::CheckExecutable(**read).ok()) << program::CheckExecutable(**read);
  for (rt::ProgramOp op : module->getOps<rt::ProgramOp>()) {
    ArrayRef<int64_t> live = op->getAttrOfType<DenseI64ArrayAttr>("rt.live_bytes");
    EXPECT_LE(*op.getPrivateBytes(), live[0] * 1.05 + 4096 * 16) << model << " " << op.getSymName().str();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RankProgramsTest,
                         testing::Values(Case{"mlp", 4, 1}, Case{"mlp", 5, 2}, Case{"mlp", 16, 3},
                                         Case{"mlp", 8, 4}, Case{"lenet", 5, 2}, Case{"resnet_tiny", 5, 3},
                                         Case{"gpt_tiny", 3, 2}, Case{"moe_tiny", 3, 2}, Case{"bert_tiny", 4, 4}),
                         [](const testing::TestParamInfo<Case> &info) {
                           return info.param.model + "_batch" + std::to_string(info.param.batch) + "_ranks" +
                                  std::to_string(info.param.ranks);
                         });
