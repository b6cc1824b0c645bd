//===- TestProgram.cpp - one op between arguments and results -------------===//

#include "tests/dialects/nn/ops/TestProgram.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace pdc::nn::testing {

Tensor sample(RankedTensorType type, unsigned seed, int64_t classes) {
  Tensor tensor(type.getShape());
  uint32_t state = seed * 2654435761u + 12345u;
  for (double &element : tensor.data) {
    state = state * 1664525u + 1013904223u;
    uint32_t bits = state >> 8; // the upper bits are the better ones
    element = type.getElementType().isInteger() ? static_cast<double>(bits % classes)
                                                : static_cast<double>(bits) / (1 << 23) - 1;
  }
  return tensor;
}

TestProgram::TestProgram(ArrayRef<const char *> types, StringRef body) {
  context.loadDialect<NNDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
  std::string text = "func.func @f(";
  for (auto [i, type] : llvm::enumerate(types))
    text += std::string(i > 0 ? ", %" : "%") + static_cast<char>('a' + i) + ": " + type;
  module = parseSourceString<ModuleOp>(text + ") {\n" + body.str() + "\nreturn\n}", &context);
  EXPECT_TRUE(module) << text << ") {\n" << body.str();
}

Operation *TestProgram::last() { return function().getBody().front().getTerminator()->getPrevNode(); }

std::vector<Tensor> TestProgram::samples() {
  std::vector<Tensor> tensors;
  for (Type type : function().getArgumentTypes())
    tensors.push_back(sample(cast<RankedTensorType>(type), static_cast<unsigned>(tensors.size()) + 1));
  return tensors;
}

Tensor TestProgram::evaluate(ArrayRef<Tensor> arguments) {
  // Decomposed values are found through the return.
  Operation *terminator = function().getBody().front().getTerminator();
  if (terminator->getNumOperands() == 0)
    terminator->insertOperands(0, last()->getResult(0));
  EXPECT_TRUE(succeeded(decomposeAll(function())));
  EXPECT_TRUE(succeeded(evaluator.run(function(), arguments)));
  return ::testing::Test::HasFailure() ? Tensor() : evaluator.value(terminator->getOperand(0));
}

/// sum(weights * value): a scalar whose gradient with respect to `value` is `weights`.
static double weightedSum(const Tensor &value, const Tensor &weights) {
  double sum = 0;
  for (auto [x, w] : llvm::zip_equal(value.data, weights.data))
    sum += x * w;
  return sum;
}

void expectGradientsMatchDifferences(ArrayRef<const char *> types, StringRef body) {
  SCOPED_TRACE(body.str());
  TestProgram forward(types, body), backward(types, body);
  ASSERT_TRUE(forward && backward);
  std::vector<Tensor> arguments = forward.samples();

  // The gradient of the first result is one more argument.
  Operation *op = backward.last();
  func::FuncOp function = backward.function();
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  Tensor weights = sample(resultType, 99);
  ASSERT_TRUE(succeeded(function.insertArgument(function.getNumArguments(), resultType, {}, op->getLoc())));
  SmallVector<Value> resultGradients(op->getNumResults()), operandGradients;
  resultGradients.front() = function.getArguments().back();
  OpBuilder builder(function.getBody().front().getTerminator());
  ASSERT_TRUE(succeeded(
      cast<DifferentiableOpInterface>(op).buildGradient(builder, resultGradients, operandGradients)));
  ASSERT_EQ(operandGradients.size(), op->getNumOperands());
  // Kept over decomposition as operands of the return.
  SmallVector<unsigned> differentiated;
  for (auto [i, gradient] : llvm::enumerate(operandGradients))
    if (gradient) {
      EXPECT_EQ(gradient.getType(), op->getOperand(i).getType());
      differentiated.push_back(cast<BlockArgument>(op->getOperand(i)).getArgNumber());
    }
  SmallVector<Value> present(
      llvm::make_filter_range(operandGradients, [](Value value) { return bool(value); }));
  Operation *terminator = function.getBody().front().getTerminator();
  terminator->setOperands(present);
  ASSERT_TRUE(succeeded(decomposeAll(function)));
  std::vector<Tensor> withWeights = arguments;
  withWeights.push_back(weights);
  ASSERT_TRUE(succeeded(backward.evaluator.run(function, withWeights)));

  constexpr double step = 1e-5;
  for (auto [gradient, argument] : llvm::zip_equal(terminator->getOperands(), differentiated)) {
    const Tensor &found = backward.evaluator.value(gradient);
    ASSERT_EQ(found.data.size(), arguments[argument].data.size());
    for (size_t i = 0; i < found.data.size(); ++i) {
      double original = arguments[argument].data[i];
      arguments[argument].data[i] = original + step;
      double above = weightedSum(forward.evaluate(arguments), weights);
      arguments[argument].data[i] = original - step;
      double below = weightedSum(forward.evaluate(arguments), weights);
      arguments[argument].data[i] = original;
      ASSERT_NEAR(found.data[i], (above - below) / (2 * step), 1e-7)
          << "argument " << argument << ", element " << i;
    }
  }
}

void expectNear(const Tensor &found, const Tensor &expected, double tolerance) {
  ASSERT_EQ(found.shape, expected.shape);
  for (size_t i = 0; i < found.data.size(); ++i)
    ASSERT_NEAR(found.data[i], expected.data[i], tolerance) << "element " << i;
}

} // namespace pdc::nn::testing
