//===- BiasPasses.cpp - biases apart from products ------------------------===//

#include "passes/bias/BiasPasses.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/Builders.h"

namespace pdc::passes {
#define GEN_PASS_DEF_EXPOSEBIASPASS
#define GEN_PASS_DEF_FOLDBIASPASS
#include "passes/bias/BiasPasses.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

/// The bias in the shape in which it is added to what `op` computes: channels are not the last dimension.
static Value asAddend(OpBuilder &b, nn::LinearOp, Value bias) { return bias; }
static Value asAddend(OpBuilder &b, nn::Conv2dOp op, Value bias) {
  auto type = cast<RankedTensorType>(bias.getType());
  return nn::ReshapeOp::create(b, op.getLoc(), type.clone({type.getDimSize(0), 1, 1}), bias);
}

/// The bias of which this is the addend, or null.
static Value asBias(nn::LinearOp op, Value addend) {
  auto type = cast<RankedTensorType>(addend.getType()), result = cast<RankedTensorType>(op.getType());
  bool fits = type.getShape() == result.getShape().take_back(op.getOuterDims());
  return fits && type.getElementType() == result.getElementType() ? addend : Value();
}
static Value asBias(nn::Conv2dOp op, Value addend) {
  auto reshape = addend.getDefiningOp<nn::ReshapeOp>();
  if (!reshape)
    return {};
  auto from = cast<RankedTensorType>(reshape.getInput().getType()),
       to = cast<RankedTensorType>(reshape.getType());
  int64_t channels = cast<RankedTensorType>(op.getType()).getDimSize(1);
  bool fits = from.getShape() == ArrayRef<int64_t>({channels}) &&
              to.getShape() == ArrayRef<int64_t>({channels, 1, 1});
  return fits && from.getElementType() == cast<RankedTensorType>(op.getType()).getElementType()
             ? reshape.getInput()
             : Value();
}

template <typename OpT> static void expose(OpT op) {
  Value bias = op.getBias();
  if (!bias)
    return;
  OpBuilder b(op);
  b.setInsertionPointAfter(op);
  Value addend = asAddend(b, op, bias);
  auto add = nn::AddOp::create(b, op.getLoc(), op.getType(), op.getResult(), addend);
  op.getResult().replaceAllUsesExcept(add.getResult(), add);
  op.getBiasMutable().clear();
}

template <typename OpT> static bool fold(nn::AddOp add, Value product, Value addend) {
  auto op = product.getDefiningOp<OpT>();
  if (!op || op.getBias() || !op->hasOneUse() || add.getType() != op.getType())
    return false;
  Value bias = asBias(op, addend);
  if (!bias)
    return false;
  op->moveBefore(add); // behind what computes the bias
  op.getBiasMutable().assign(bias);
  add.getResult().replaceAllUsesWith(op.getResult());
  add.erase();
  if (Operation *reshape = addend.getDefiningOp(); addend != bias && reshape->use_empty())
    reshape->erase();
  return true;
}

namespace {

struct ExposeBias : passes::impl::ExposeBiasPassBase<ExposeBias> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto linear = dyn_cast<nn::LinearOp>(op))
        expose(linear);
      else if (auto convolution = dyn_cast<nn::Conv2dOp>(op))
        expose(convolution);
    });
  }
};

struct FoldBias : passes::impl::FoldBiasPassBase<FoldBias> {
  void runOnOperation() override {
    SmallVector<nn::AddOp> adds;
    getOperation().walk([&](nn::AddOp add) { adds.push_back(add); });
    for (nn::AddOp add : adds) {
      Value lhs = add.getLhs(), rhs = add.getRhs();
      (void)(fold<nn::LinearOp>(add, lhs, rhs) || fold<nn::LinearOp>(add, rhs, lhs) ||
             fold<nn::Conv2dOp>(add, lhs, rhs) || fold<nn::Conv2dOp>(add, rhs, lhs));
    }
  }
};

} // namespace
