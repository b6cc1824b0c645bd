//===- Expander.cpp - a model's body with blocks expanded -----------------===//

#include "passes/specialize/Expander.h"
#include "dialects/nn/IR/NNUtils.h"
#include "dialects/nn/Utils/Labels.h"
#include "dialects/nn/Utils/Sizes.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// The part of the model an op belongs to: its first parameter's name without the last component, or the
/// prefix.
static StringRef labelFor(Operation *op, StringRef prefix) {
  for (Value operand : op->getOperands())
    if (auto param = operand.getDefiningOp<nn::ParamOp>())
      if (StringRef owner = param.getName().rsplit('.').first; owner.size() < param.getName().size())
        return owner;
  return prefix.rtrim('.');
}

/// Where the op is written, and through which uses of blocks it got here.
Location Expander::locate(Operation &op) {
  Location loc = op.getLoc();
  for (Location caller : llvm::reverse(callers))
    loc = CallSiteLoc::get(loc, caller);
  return loc;
}

LogicalResult Expander::expand(Block &body, StringRef prefix, IRMapping &mapping) {
  for (Operation &op : body.without_terminator())
    if (failed(expandOp(op, prefix, mapping)))
      return failure();
  return success();
}

LogicalResult Expander::expandOp(Operation &op, StringRef prefix, IRMapping &mapping) {
  if (isa<nn::ParamOp, nn::StateOp>(op))
    return expandVariable(op, prefix, mapping);
  if (auto repeat = dyn_cast<nn::RepeatOp>(op))
    return expandRepeat(repeat, prefix, mapping);
  if (auto call = dyn_cast<nn::CallOp>(op)) {
    SmallVector<Value> operands;
    for (Value operand : call.getOperands())
      operands.push_back(mapping.lookup(operand));
    auto results = applyBlock(call, call.getCalleeAttr(), (prefix + call.getPrefix()).str(), operands);
    if (failed(results))
      return failure();
    mapping.map(call.getResults(), *results);
    return success();
  }
  if (op.getNumRegions() != 0)
    return op.emitOpError("has regions, which a model must not hold before it is specialized");

  Operation *clone = builder.clone(op, mapping);
  clone->setLoc(nn::withLabel(labelFor(clone, prefix), locate(op)));
  if (auto dropout = dyn_cast<nn::DropoutOp>(clone))
    dropout.setStream(nextDropoutStream++);
  return specializeTypes(clone);
}

LogicalResult Expander::expandVariable(Operation &op, StringRef prefix, IRMapping &mapping) {
  Operation *clone = builder.clone(op, mapping);
  std::string name = (prefix + op.getAttrOfType<StringAttr>("name").getValue()).str();
  clone->setAttr("name", builder.getStringAttr(name));
  clone->setLoc(nn::withLabel(name, locate(op)));
  return nn::checkResultBytes(clone);
}

LogicalResult Expander::expandRepeat(nn::RepeatOp op, StringRef prefix, IRMapping &mapping) {
  SmallVector<Value> operands;
  for (Value operand : op.getOperands())
    operands.push_back(mapping.lookup(operand));
  for (int64_t i = 0, count = op.getCount(); i < count; ++i) {
    std::string inner = (prefix + op.getPrefix() + Twine(i) + ".").str();
    auto results = applyBlock(op, op.getCalleeAttr(), inner, operands);
    if (failed(results))
      return failure();
    llvm::copy(*results, operands.begin());
  }
  mapping.map(op.getResults(), ValueRange(operands).take_front(op.getNumResults()));
  return success();
}

FailureOr<SmallVector<Value>> Expander::applyBlock(Operation *user, FlatSymbolRefAttr callee,
                                                   StringRef prefix, ValueRange operands) {
  // That the block exists, is not recursive and has these types, the verifiers of nn.call and nn.repeat have
  // checked.
  Block &body = symbols.lookup<nn::BlockOp>(callee.getValue()).getBody().front();
  callers.push_back(user->getLoc());
  IRMapping inner;
  inner.map(body.getArguments(), operands);
  LogicalResult expanded = expand(body, prefix, inner);
  callers.pop_back();
  if (failed(expanded))
    return failure();
  SmallVector<Value> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(inner.lookup(result));
  return results;
}

LogicalResult Expander::specializeTypes(Operation *op) {
  SmallVector<Type> types;
  if (auto inferred = dyn_cast<InferTypeOpInterface>(op)) {
    if (failed(inferred.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                         op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
                                         op->getRegions(), types)))
      return failure(); // inference says why
  } else {
    for (Type type : op->getResultTypes()) {
      FailureOr<Type> bound = bindBatch(op, cast<RankedTensorType>(type));
      if (failed(bound))
        return failure();
      types.push_back(*bound);
    }
  }
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
  // Before anything is inferred from it: what follows may multiply its sizes.
  return nn::checkResultBytes(op);
}

/// The static type of a result whose type is written, not inferred: a reshape's `?` follows from the number
/// of elements, one that an operand has in the same place is that of the operand, and any other is the batch.
FailureOr<Type> Expander::bindBatch(Operation *op, RankedTensorType type) {
  if (type.hasStaticShape())
    return Type(type);
  SmallVector<int64_t> shape(type.getShape());
  if (llvm::count(shape, ShapedType::kDynamic) > 1)
    return op->emitOpError("has a result ") << type << " with more than one `?`; only the batch may be `?`";
  int64_t *unknown = llvm::find(shape, ShapedType::kDynamic);
  auto input = op->getNumOperands() == 0 ? RankedTensorType()
                                         : dyn_cast<RankedTensorType>(op->getOperand(0).getType());

  if (isa<nn::ReshapeOp>(op)) {
    int64_t others = nn::staticElementCount(shape);
    if (others == 0 || input.getNumElements() % others != 0)
      return op->emitOpError("cannot give the ")
             << input.getNumElements() << " elements of " << input << " the shape " << type;
    *unknown = input.getNumElements() / others;
  } else if (input && input.getRank() == type.getRank() && input.getDimSize(unknown - shape.begin()) != 1) {
    *unknown = input.getDimSize(unknown - shape.begin());
  } else if (batch == ShapedType::kDynamic) {
    return op->emitOpError("has a result ") << type << " whose `?` nothing determines";
  } else {
    *unknown = batch;
  }
  return Type(RankedTensorType::get(shape, type.getElementType(), type.getEncoding()));
}
