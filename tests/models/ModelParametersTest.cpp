// Models in models/ have exactly as many parameters as the ones they describe.

#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace pdc::nn;

namespace {

/// Elements of the parameters of a model or block, those of the blocks it uses included.
int64_t parameters(Operation *function) {
  int64_t count = 0;
  auto callee = [&](FlatSymbolRefAttr name) { return SymbolTable::lookupNearestSymbolFrom(function, name); };
  function->walk([&](Operation *op) {
    if (auto param = dyn_cast<ParamOp>(op))
      count += cast<RankedTensorType>(param.getResult().getType()).getNumElements();
    else if (auto call = dyn_cast<CallOp>(op))
      count += parameters(callee(call.getCalleeAttr()));
    else if (auto repeat = dyn_cast<RepeatOp>(op))
      count += static_cast<int64_t>(repeat.getCount()) * parameters(callee(repeat.getCalleeAttr()));
  });
  return count;
}

/// The parameters of the only model of models/NAME.mlir.
int64_t parametersOf(const std::string &name) {
  MLIRContext context;
  context.loadDialect<NNDialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>("models/" + name + ".mlir", &context);
  if (!module)
    return -1;
  auto models = module->getOps<ModelOp>();
  return llvm::hasSingleElement(models) ? parameters(*models.begin()) : -1;
}

TEST(Models, ThatOnlyTestsUseParseAndVerify) {
  for (const char *name : {"mlp", "resnet_tiny", "bert_tiny"})
    EXPECT_GT(parametersOf(name), 0) << name;
}

// torchvision 0.15: sum(p.numel() for p in model.parameters()).
TEST(ModelParameters, OfAlexNetAreTorchvisions) { EXPECT_EQ(parametersOf("alexnet"), 61'100'840); }
TEST(ModelParameters, OfVgg16AreTorchvisions) { EXPECT_EQ(parametersOf("vgg16"), 138'357'544); }
TEST(ModelParameters, OfResNet50AreTorchvisions) { EXPECT_EQ(parametersOf("resnet50"), 25'557'032); }
TEST(ModelParameters, OfVitBaseAreTorchvisions) { EXPECT_EQ(parametersOf("vit_base"), 86'567'656); }

// Radford et al. 2019, as released: the head shares the table of token embeddings.
TEST(ModelParameters, OfGpt2SmallAreTheReleasedOnes) { EXPECT_EQ(parametersOf("gpt2_small"), 124'439'808); }
TEST(ModelParameters, OfGpt2MediumAreTheReleasedOnes) { EXPECT_EQ(parametersOf("gpt2_medium"), 354'823'168); }

// Brown et al. 2020, table 2.1: 96 layers of 12 * 12288^2 + 13 * 12288, two embeddings, the last normalization.
TEST(ModelParameters, OfGpt3AreAHundredAndSeventyFiveBillion) {
  EXPECT_EQ(parametersOf("gpt3_175b"), 174'604'259'328);
}

// Devlin et al. 2019 with the head of the masked language model and without the pooler:
// embeddings (30522 + 512 + 2 + 2) 768; 12 layers of 7,087,872; head 768 * 768 + 3 * 768 + 30522.
TEST(ModelParameters, OfBertBaseAreTheEncodersAndTheHeads) {
  EXPECT_EQ(parametersOf("bert_base"), 109'514'298);
}

// 784 x 512, 512 x 10 and so on: by hand.
TEST(ModelParameters, OfLeNetAreThoseOf1998WithoutItsSparseConnections) {
  EXPECT_EQ(parametersOf("lenet"),
            6 * 25 + 6 + 16 * 6 * 25 + 16 + 400 * 120 + 120 + 120 * 84 + 84 + 84 * 10 + 10);
}

// 4 layers of 12 * 128^2 + 13 * 128, two embeddings, the last normalization.
TEST(ModelParameters, OfGptTinyAreAQuarterMillionALayer) {
  EXPECT_EQ(parametersOf("gpt_tiny"), 4 * (12 * 128 * 128 + 13 * 128) + (256 + 128) * 128 + 2 * 128);
}

// 2 layers: attention 4 * 64^2 + 8 * 64 (two normalizations, biases of 3 and 1), the router, 4 experts of
// two matrices and biases; two embeddings, the last normalization.
TEST(ModelParameters, OfMoeTinyAreThoseOfFourExpertsALayer) {
  EXPECT_EQ(parametersOf("moe_tiny"), 2 * (4 * 64 * 64 + 8 * 64 + 64 * 4 + 4 * (2 * 64 * 128 + 128 + 64)) +
                                          (256 + 64) * 64 + 2 * 64);
}

} // namespace
