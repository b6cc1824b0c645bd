//===- ReverseMode.cpp - gradients of a scalar ----------------------------===//

#include "passes/autodiff/ReverseMode.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace pdc;

namespace {

class ReverseMode {
public:
  ReverseMode(OpBuilder &builder, function_ref<std::string(Value)> nameOf)
      : builder(builder), nameOf(nameOf) {}

  FailureOr<SmallVector<Value>> run(Value loss, ValueRange sources);
  const llvm::MapVector<Value, Value> &getGradients() const { return gradients; }

private:
  SmallVector<Operation *> markActive(Value loss, ValueRange sources);
  LogicalResult differentiate(Operation *op);
  LogicalResult checkGradient(Operation *op, ArrayRef<Value> gradients);
  void accumulate(Value value, Value gradient, Location loc);

  OpBuilder &builder;
  function_ref<std::string(Value)> nameOf;
  DenseMap<Value, Value> sourceOf; // of a value that depends on a source: one such source
  llvm::MapVector<Value, Value>
      gradients; // of the loss with respect to a value, as far as they have been added up
};

/// Gradients pass through floating-point values only.
bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

} // namespace

/// Marks the values that depend on a source; returns the ops up to the loss that compute them, in order.
SmallVector<Operation *> ReverseMode::markActive(Value loss, ValueRange sources) {
  SmallVector<Operation *> active;
  for (Value source : sources)
    sourceOf[source] = source;
  Operation *last = loss.getDefiningOp();
  if (!last)
    return active;
  for (Operation &op : llvm::make_range(last->getBlock()->begin(), std::next(last->getIterator()))) {
    auto operand = llvm::find_if(op.getOperands(), [&](Value value) { return sourceOf.contains(value); });
    if (operand == op.operand_end())
      continue;
    Value source = sourceOf.lookup(*operand);
    for (Value result : op.getResults())
      if (isFloat(result))
        sourceOf[result] = source;
    active.push_back(&op);
  }
  return active;
}

/// What each op promises (DifferentiableOpInterface), checked so that a mistake shows at its place.
LogicalResult ReverseMode::checkGradient(Operation *op, ArrayRef<Value> operandGradients) {
  if (operandGradients.size() != op->getNumOperands())
    return op->emitOpError("has ") << op->getNumOperands() << " operands but gave " << operandGradients.size()
                                   << " gradients";
  for (auto [index, operand, gradient] : llvm::enumerate(op->getOperands(), operandGradients))
    if (gradient && gradient.getType() != operand.getType())
      return op->emitOpError("gave operand ")
             << index << " of type " << operand.getType() << " a gradient of type " << gradient.getType();
  return success();
}

void ReverseMode::accumulate(Value value, Value gradient, Location loc) {
  Value &sum = gradients[value];
  sum = sum ? nn::AddOp::create(builder, loc, sum, gradient) : gradient;
}

LogicalResult ReverseMode::differentiate(Operation *op) {
  SmallVector<Value> resultGradients;
  for (Value result : op->getResults())
    resultGradients.push_back(gradients.lookup(result));
  if (llvm::none_of(resultGradients, [](Value gradient) { return bool(gradient); }))
    return success(); // the loss does not depend on it

  auto differentiable = dyn_cast<nn::DifferentiableOpInterface>(op);
  if (!differentiable) {
    Value operand = *llvm::find_if(op->getOperands(), [&](Value value) { return sourceOf.contains(value); });
    return op->emitOpError("has no gradient, but the loss depends on parameter '")
           << nameOf(sourceOf.lookup(operand)) << "' through it";
  }
  SmallVector<Value> operandGradients;
  if (failed(differentiable.buildGradient(builder, resultGradients, operandGradients)))
    return op->emitOpError("could not be differentiated");
  if (failed(checkGradient(op, operandGradients)))
    return failure();
  for (auto [operand, gradient] : llvm::zip_equal(op->getOperands(), operandGradients))
    if (gradient && sourceOf.contains(operand))
      accumulate(operand, gradient, op->getLoc());
  return success();
}

FailureOr<SmallVector<Value>> ReverseMode::run(Value loss, ValueRange sources) {
  SmallVector<Operation *> active = markActive(loss, sources);
  if (sourceOf.contains(loss))
    gradients[loss] =
        nn::ConstantOp::create(builder, loss.getLoc(), cast<RankedTensorType>(loss.getType()), 1.0);
  for (Operation *op : llvm::reverse(active))
    if (failed(differentiate(op)))
      return failure();
  SmallVector<Value> result;
  for (Value source : sources)
    result.push_back(gradients.lookup(source));
  return result;
}

FailureOr<SmallVector<Value>> passes::buildGradients(OpBuilder &builder, Value loss, ValueRange sources,
                                                     function_ref<std::string(Value)> nameOf,
                                                     function_ref<void(Value, Value)> onGradient) {
  ReverseMode reverse(builder, nameOf);
  FailureOr<SmallVector<Value>> result = reverse.run(loss, sources);
  if (succeeded(result) && onGradient)
    for (auto [value, gradient] : reverse.getGradients())
      onGradient(value, gradient);
  return result;
}
