//===- Dropout.cpp - dropout and the seed of a step -----------------------===//

#include "dialects/nn/IR/NNChecks.h"
#include "dialects/nn/IR/OpWriter.h"

using namespace mlir;
using namespace pdc::nn;

LogicalResult DropoutOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor op,
                                          SmallVectorImpl<Type> &types) {
  double rate = op.getRate().convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return inferError<DropoutOp>(location, "expected a rate of 0 or more and less than 1, found ", rate);
  types.push_back(op.getInput().getType());
  return success();
}

ShardingRule DropoutOp::getShardingRule() {
  return elementwiseRule(getOperation()->getOperandTypes(), getType());
}

OpCost DropoutOp::getCost() { return withFlops(streamingCost(*this), elements(getInput())); }

FailureOr<SmallVector<Value>> DropoutOp::decompose(OpBuilder &builder) {
  double rate = getRate().convertToDouble();
  if (getInference() || rate == 0)
    return SmallVector<Value>{getInput()};
  RankedTensorType type = getType();
  if (!type.hasStaticShape())
    return emitOpError("expected a static batch, since the mask is numbered by element, found ")
           << type << "; give --batch=N";
  if (!getStream())
    return emitOpError("expected `stream`, the number of this use of dropout, which `specialize` gives");
  Value seed = StepSeedOp::create(builder, getLoc(), RankedTensorType::get({}, builder.getI64Type()));
  Value mask = DropoutMaskOp::create(builder, getLoc(), type, seed, /*starts=*/ValueRange(), getRate(),
                                     *getStream(), type.getShape(), /*start_dimensions=*/ArrayRef<int64_t>());
  return SmallVector<Value>{MulOp::create(builder, getLoc(), getInput(), mask)};
}

ShardingRule StepSeedOp::getShardingRule() { return elementwiseRule({}, getOperation()->getResultTypes()); }
