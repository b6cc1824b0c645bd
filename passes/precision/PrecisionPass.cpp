//===- PrecisionPass.cpp - the type that a model computes in --------------===//

#include "passes/precision/PrecisionPass.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {
#define GEN_PASS_DEF_PRECISIONPASS
#include "passes/precision/PrecisionPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

namespace {

/// Moves one model to a shorter compute type, op by op in program order.
class Reducer {
public:
  Reducer(nn::ModelOp model, FloatType reduced)
      : model(model), builder(model.getContext()), reduced(reduced), full(builder.getF32Type()) {}

  LogicalResult run();

private:
  LogicalResult checkTypes();
  LogicalResult reduce(Operation *op);
  bool computesInFull(Operation *op, unsigned operand);
  LogicalResult updateResultTypes(Operation *op, bool isReduced);
  Value convert(Value value, Type elementType);
  void convertReturn(Operation *op);

  nn::ModelOp model;
  OpBuilder builder;
  FloatType reduced;
  FloatType full;
  Operation *firstOp = nullptr;
  DenseMap<Value, Value> casts; // a value in the other type, one cast each
};

/// Whether a value takes part: integers and truth values never do.
bool isFloat(Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }

} // namespace

/// `value` with another floating-point type. All uses share one cast, placed where the value is made.
Value Reducer::convert(Value value, Type elementType) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!isFloat(type) || type.getElementType() == elementType)
    return value;
  Value &cast = casts[value];
  if (cast)
    return cast;
  if (Operation *producer = value.getDefiningOp())
    builder.setInsertionPointAfter(producer);
  else
    builder.setInsertionPoint(firstOp);
  cast = nn::CastOp::create(builder, value.getLoc(), type.clone(elementType), value);
  return cast;
}

bool Reducer::computesInFull(Operation *op, unsigned operand) {
  if (auto mixed = dyn_cast<nn::MixedPrecisionOpInterface>(op))
    return mixed.keepsFullPrecision(operand);
  return llvm::all_of(op->getResultTypes(),
                      [](Type type) { return cast<RankedTensorType>(type).getRank() == 0; });
}

LogicalResult Reducer::updateResultTypes(Operation *op, bool isReduced) {
  SmallVector<Type> types;
  if (auto inferred = dyn_cast<InferTypeOpInterface>(op)) {
    if (failed(inferred.inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                         op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
                                         op->getRegions(), types)))
      return failure(); // inference says why
  } else {
    for (Type type : op->getResultTypes()) {
      bool changes = isReduced && getElementTypeOrSelf(type) == full;
      types.push_back(changes ? cast<RankedTensorType>(type).clone(reduced) : type);
    }
  }
  for (auto [result, type] : llvm::zip_equal(op->getResults(), types))
    result.setType(type);
  return success();
}

LogicalResult Reducer::reduce(Operation *op) {
  if (op->getNumRegions() != 0)
    return op->emitOpError("has regions, which a model must not hold before its precision is chosen");
  if (isa<nn::CastOp>(op)) // takes any type, and says itself what it gives
    return success();
  if (auto assign = dyn_cast<nn::AssignOp>(op)) {
    assign.getValueMutable().assign(convert(assign.getValue(), getElementTypeOrSelf(assign.getState())));
    return success();
  }
  bool anyReduced = false;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isFloat(operand.get().getType()))
      continue;
    bool inFull = computesInFull(op, operand.getOperandNumber());
    anyReduced |= !inFull;
    operand.set(convert(operand.get(), inFull ? full : reduced));
  }
  // Constants, parameters and the like, which have no operands, stay as they are and are cast where they are
  // used.
  return op->getNumOperands() == 0 ? success() : updateResultTypes(op, anyReduced);
}

/// The model's results keep the types that its signature states.
void Reducer::convertReturn(Operation *op) {
  for (auto [operand, type] : llvm::zip_equal(op->getOpOperands(), model.getResultTypes()))
    operand.set(convert(operand.get(), getElementTypeOrSelf(type)));
}

LogicalResult Reducer::checkTypes() {
  auto fits = [&](Type type) {
    return !isFloat(type) || getElementTypeOrSelf(type) == full || getElementTypeOrSelf(type) == reduced;
  };
  for (BlockArgument argument : model.getBody().getArguments())
    if (!fits(argument.getType()))
      return model.emitError("argument ")
             << argument.getArgNumber() << " of model @" << model.getSymName() << " is " << argument.getType()
             << "; precision " << reduced << " starts from f32";
  for (Operation &op : model.getBody().front())
    for (Type type : op.getResultTypes())
      if (!fits(type))
        return op.emitOpError("gives ") << type << "; precision " << reduced << " starts from a model in f32";
  return success();
}

LogicalResult Reducer::run() {
  if (failed(checkTypes()))
    return failure();
  Block &body = model.getBody().front();
  firstOp = &body.front();
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
    if (failed(reduce(&op)))
      return failure();
  convertReturn(body.getTerminator());
  return success();
}

namespace {
class Precision : public passes::impl::PrecisionPassBase<Precision> {
public:
  using PrecisionPassBase::PrecisionPassBase;
  void runOnOperation() override {
    if (type == passes::ComputeType::F32)
      return;
    for (nn::ModelOp model : getOperation().getOps<nn::ModelOp>())
      if (failed(Reducer(model, BFloat16Type::get(&getContext())).run()))
        return signalPassFailure();
  }
};
} // namespace
