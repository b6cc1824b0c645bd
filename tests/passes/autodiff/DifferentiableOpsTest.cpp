//===- DifferentiableOpsTest.cpp - every op with a gradient is differentiated -===//

#include "dialects/nn/IR/NN.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/autodiff/AutodiffPass.h"
#include "passes/verify/VerifyPasses.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace pdc;

namespace {

/// An op applied to the parameter %w; %x is an input of the same type, %ids is one of two integers.
struct OpCase {
  const char *op;
  const char *parameter; // the type of %w and %x
  const char *apply;     // defines %y
  const char *result;    // the type of %y
};

const OpCase unaryCases[] = {
    {"relu", "2x4xf32", "%y = nn.relu %w : tensor<2x4xf32>", "2x4xf32"},
    {"silu", "2x4xf32", "%y = nn.silu %w : tensor<2x4xf32>", "2x4xf32"},
    {"tanh", "2x4xf32", "%y = nn.tanh %w : tensor<2x4xf32>", "2x4xf32"},
    {"sigmoid", "2x4xf32", "%y = nn.sigmoid %w : tensor<2x4xf32>", "2x4xf32"},
    {"exp", "2x4xf32", "%y = nn.exp %w : tensor<2x4xf32>", "2x4xf32"},
    {"log", "2x4xf32", "%y = nn.log %w : tensor<2x4xf32>", "2x4xf32"},
    {"sqrt", "2x4xf32", "%y = nn.sqrt %w : tensor<2x4xf32>", "2x4xf32"},
    {"rsqrt", "2x4xf32", "%y = nn.rsqrt %w : tensor<2x4xf32>", "2x4xf32"},
    {"neg", "2x4xf32", "%y = nn.neg %w : tensor<2x4xf32>", "2x4xf32"},
    {"abs", "2x4xf32", "%y = nn.abs %w : tensor<2x4xf32>", "2x4xf32"},
    {"square", "2x4xf32", "%y = nn.square %w : tensor<2x4xf32>", "2x4xf32"},
    {"gelu", "2x4xf32", "%y = nn.gelu %w {tanh} : tensor<2x4xf32>", "2x4xf32"},
    {"cast", "2x4xf32", "%y = nn.cast %w : tensor<2x4xf32> to tensor<2x4xbf16>", "2x4xbf16"},
    {"softmax", "2x4xf32", "%y = nn.softmax %w : (tensor<2x4xf32>) -> tensor<2x4xf32>", "2x4xf32"},
};

const OpCase binaryCases[] = {
    {"add", "2x4xf32", "%y = nn.add %w, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"sub", "2x4xf32", "%y = nn.sub %x, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"mul", "2x4xf32", "%y = nn.mul %w, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"div", "2x4xf32", "%y = nn.div %x, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"max", "2x4xf32", "%y = nn.max %x, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"min", "2x4xf32", "%y = nn.min %x, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"select", "2x4xf32",
     "%c = nn.compare lt %x, %w : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>\n"
     "%y = nn.select %c, %w, %x : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"layer_norm", "2x4xf32",
     "%g = nn.param \"g\" init(ones) : tensor<4xf32>\n"
     "%y = nn.layer_norm %w, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"rms_norm", "2x4xf32",
     "%g = nn.param \"g\" init(ones) : tensor<4xf32>\n"
     "%y = nn.rms_norm %w, %g : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>",
     "2x4xf32"},
    {"cross_entropy_rows", "2x4xf32",
     "%y = nn.cross_entropy_rows %w, %ids {ignore_index = -100 : i64} : (tensor<2x4xf32>, tensor<2xi32>) -> "
     "tensor<2xf32>",
     "2xf32"},
};

const OpCase shapeCases[] = {
    {"reshape", "2x4xf32", "%y = nn.reshape %w : tensor<2x4xf32> to tensor<8xf32>", "8xf32"},
    {"transpose", "2x4xf32",
     "%y = nn.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x4xf32>) -> tensor<4x2xf32>",
     "4x2xf32"},
    {"broadcast", "2x4xf32", "%y = nn.broadcast %w : tensor<2x4xf32> to tensor<3x2x4xf32>", "3x2x4xf32"},
    {"slice", "2x4xf32",
     "%y = nn.slice %w {offsets = array<i64: 0, 1>, sizes = array<i64: -1, 2>} : (tensor<2x4xf32>) -> "
     "tensor<2x2xf32>",
     "2x2xf32"},
    {"pad", "2x4xf32",
     "%y = nn.pad %w {low = array<i64: 0, 1>, high = array<i64: 1, 0>} : (tensor<2x4xf32>) -> "
     "tensor<3x5xf32>",
     "3x5xf32"},
    {"concat", "2x4xf32",
     "%y = nn.concat %x, %w {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>",
     "2x8xf32"},
    {"split", "2x4xf32", // only one of the parts is used
     "%unused, %y = nn.split %w {axis = 1 : i64, sizes = array<i64: 1, 3>} : (tensor<2x4xf32>) -> "
     "(tensor<2x1xf32>, tensor<2x3xf32>)",
     "2x3xf32"},
    {"reduce_sum", "2x4xf32",
     "%y = nn.reduce_sum %w {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2xf32>", "2xf32"},
    {"reduce_max", "2x4xf32",
     "%y = nn.reduce_max %w {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2xf32>", "2xf32"},
    {"reduce_mean", "2x4xf32",
     "%y = nn.reduce_mean %w {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2xf32>", "2xf32"},
    {"global_avg_pool2d", "2x3x4x4xf32",
     "%y = nn.global_avg_pool2d %w : (tensor<2x3x4x4xf32>) -> tensor<2x3xf32>", "2x3xf32"},
};

const OpCase libraryCases[] = {
    {"linear", "2x4xf32",
     "%k = nn.param \"k\" init(kaiming) : tensor<4x3xf32>\n"
     "%b = nn.param \"b\" init(zeros) : tensor<3xf32>\n"
     "%y = nn.linear %w, %k, %b : (tensor<2x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>",
     "2x3xf32"},
    {"matmul", "2x4xf32",
     "%y = nn.matmul %w, %x {transpose_rhs} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x2xf32>",
     "2x2xf32"},
    {"batch_matmul", "2x3x4xf32",
     "%y = nn.batch_matmul %x, %w {transpose_rhs} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> "
     "tensor<2x3x3xf32>",
     "2x3x3xf32"},
    {"conv2d", "2x3x4x4xf32",
     "%k = nn.param \"k\" init(kaiming) : tensor<5x3x3x3xf32>\n"
     "%b = nn.param \"b\" init(zeros) : tensor<5xf32>\n"
     "%y = nn.conv2d %w, %k, %b : (tensor<2x3x4x4xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>) -> "
     "tensor<2x5x2x2xf32>",
     "2x5x2x2xf32"},
    {"max_pool2d", "2x3x4x4xf32",
     "%y = nn.max_pool2d %w {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>) "
     "-> "
     "tensor<2x3x2x2xf32>",
     "2x3x2x2xf32"},
    {"avg_pool2d", "2x3x4x4xf32",
     "%y = nn.avg_pool2d %w {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x3x4x4xf32>) "
     "-> "
     "tensor<2x3x2x2xf32>",
     "2x3x2x2xf32"},
    {"embedding", "2x4xf32",
     "%y = nn.embedding %w, %ids : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>", "2x4xf32"},
    {"dispatch", "2x1x4xf32",
     "%slots = nn.reshape %ids : tensor<2xi32> to tensor<2x1x1xi32>\n"
     "%y = nn.dispatch %w to %slots {count = 3 : i64} : (tensor<2x1x4xf32>, tensor<2x1x1xi32>) -> "
     "tensor<2x3x4xf32>",
     "2x3x4xf32"},
    {"combine", "2x1x4xf32",
     "%slots = nn.reshape %ids : tensor<2xi32> to tensor<2x1x1xi32>\n"
     "%r = nn.reduce_sum %x {axes = array<i64: 2>} : (tensor<2x1x4xf32>) -> tensor<2x1xf32>\n"
     "%g = nn.reshape %r : tensor<2x1xf32> to tensor<2x1x1xf32>\n"
     "%y = nn.combine %w, %slots, %g : (tensor<2x1x4xf32>, tensor<2x1x1xi32>, tensor<2x1x1xf32>) -> "
     "tensor<2x1x4xf32>",
     "2x1x4xf32"},
    {"top_k", "2x4xf32",
     "%y, %indices = nn.top_k %w {k = 2 : i64} : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)",
     "2x2xf32"},
};

std::vector<OpCase> allCases() {
  std::vector<OpCase> cases(std::begin(unaryCases), std::end(unaryCases));
  cases.insert(cases.end(), std::begin(binaryCases), std::end(binaryCases));
  cases.insert(cases.end(), std::begin(shapeCases), std::end(shapeCases));
  cases.insert(cases.end(), std::begin(libraryCases), std::end(libraryCases));
  return cases;
}

/// The squares of %y are summed, so that the gradient depends on it.
std::string modelOf(const OpCase &test) {
  llvm::StringRef result = test.result;
  std::string axes;
  for (size_t i = 0, rank = result.count('x'); i < rank; ++i)
    axes += (i ? ", " : "") + std::to_string(i);
  bool isF32 = result.ends_with("f32");
  std::string type = "tensor<" + result.str() + ">",
              parameter = "tensor<" + std::string(test.parameter) + ">";
  return "nn.model @m(%x: " + parameter + ", %ids: tensor<2xi32>) -> tensor<" + (isF32 ? "f32" : "bf16") +
         "> {\n" + "%w = nn.param \"w\" init(normal(1.0)) : " + parameter + "\n" + test.apply +
         "\n%s = nn.square %y : " + type + "\n%loss = nn.reduce_sum %s {axes = array<i64: " + axes +
         ">} : (" + type + ") -> tensor<" + (isF32 ? "f32" : "bf16") + ">\nnn.return %loss : tensor<" +
         (isF32 ? "f32" : "bf16") + ">\n}\n";
}

class DifferentiableOps : public testing::TestWithParam<OpCase> {};

// A warning would say that a parameter does not influence the loss, an error that a gradient is wrong in
// form.
TEST_P(DifferentiableOps, GiveEveryParameterAGradientOfItsType) {
  MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<nn::NNDialect>();
  std::string messages;
  context.getDiagEngine().registerHandler([&](Diagnostic &message) {
    messages += message.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(modelOf(GetParam()), &context);
  ASSERT_TRUE(module) << messages << modelOf(GetParam());
  PassManager manager(&context);
  passes::AutodiffPassOptions options;
  options.modes = {"gradient"};
  manager.addPass(passes::createAutodiffPass(options));
  manager.addPass(passes::createVerifyStepPass());
  EXPECT_TRUE(succeeded(manager.run(*module)));
  EXPECT_EQ(messages, "");
}

INSTANTIATE_TEST_SUITE_P(Op, DifferentiableOps, testing::ValuesIn(allCases()),
                         [](const auto &info) { return std::string(info.param.op); });

TEST(DifferentiableOpsTest, EveryOpWithAGradientIsAmongTheCases) {
  MLIRContext context;
  context.loadDialect<nn::NNDialect>();
  std::set<std::string> expected, tested;
  for (RegisteredOperationName op : context.getRegisteredOperations())
    if (op.getDialectNamespace() == "nn" && op.hasInterface<nn::DifferentiableOpInterface>())
      expected.insert(op.stripDialect().str());
  for (const OpCase &test : allCases())
    tested.insert(test.op);
  EXPECT_EQ(tested, expected);
}

} // namespace
