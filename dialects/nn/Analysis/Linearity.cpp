//===- Linearity.cpp - which ops may work on partial sums -----------------===//

#include "dialects/nn/Analysis/Linearity.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/nn/Interfaces/LinearOpInterface.h"

using namespace mlir;
using namespace pdc::nn;

namespace {

using Operands = llvm::SmallBitVector;

/// Additive in all operands together: x + y, and what only moves or sums elements.
template <typename OpT> struct Sum : LinearOpInterface::ExternalModel<Sum<OpT>, OpT> {
  bool isLinearIn(Operation *, const Operands &operands) const { return operands.all(); }
};

/// Additive in each operand by itself: x * y.
template <typename OpT> struct Product : LinearOpInterface::ExternalModel<Product<OpT>, OpT> {
  bool isLinearIn(Operation *op, const Operands &operands) const {
    if constexpr (std::is_same_v<OpT, LinearOp> || std::is_same_v<OpT, Conv2dOp>)
      if (cast<OpT>(op).getBias())
        return false; // each rank would add it
    return operands.count() == 1;
  }
};

/// Additive in the first operand: x / y, the gradient of an activation.
template <typename OpT> struct First : LinearOpInterface::ExternalModel<First<OpT>, OpT> {
  bool isLinearIn(Operation *, const Operands &operands) const {
    return operands.count() == 1 && operands.test(0);
  }
};

struct Pad : LinearOpInterface::ExternalModel<Pad, PadOp> {
  bool isLinearIn(Operation *op, const Operands &) const { return cast<PadOp>(op).getValue().isZero(); }
};

struct Cast : LinearOpInterface::ExternalModel<Cast, CastOp> {
  bool isLinearIn(Operation *op, const Operands &) const {
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(op->getOperand(0)));
    auto to = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
    return from && to && (from == to || from.getWidth() < to.getWidth());
  }
};

template <template <typename> class Model, typename... OpTs> void attach(MLIRContext &context) {
  (OpTs::template attachInterface<Model<OpTs>>(context), ...);
}

} // namespace

void pdc::nn::registerLinearity(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, NNDialect *) {
    attach<Sum, AddOp, SubOp, NegOp, ReshapeOp, TransposeOp, BroadcastOp, SliceOp, ConcatOp, SplitOp,
           ReduceSumOp>(*context);
    attach<Product, MulOp, LinearOp, LinearGradWeightOp, MatmulOp, BatchMatmulOp, Conv2dOp, Conv2dGradInputOp,
           Conv2dGradWeightOp>(*context);
    attach<First, DivOp, ReluGradOp, SiluGradOp, TanhGradOp, SigmoidGradOp, GeluGradOp>(*context);
    PadOp::attachInterface<Pad>(*context);
    CastOp::attachInterface<Cast>(*context);
  });
}
