//===- SpecializePass.cpp - binds the batch, expands blocks ---------------===//

#include "passes/specialize/SpecializePass.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/nn/Utils/Sizes.h"
#include "passes/specialize/Expander.h"

namespace pdc::passes {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "passes/specialize/SpecializePass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

namespace {
class Specialize : public passes::impl::SpecializePassBase<Specialize> {
public:
  using SpecializePassBase::SpecializePassBase;
  void runOnOperation() override;

private:
  LogicalResult specialize(nn::ModelOp model);
  FailureOr<SmallVector<Type>> bindArguments(nn::ModelOp model);
  LogicalResult checkStaticBatch(nn::ModelOp model);
};
} // namespace

/// Nothing is `?`: a batch that was given all the same must be the one that is written.
LogicalResult Specialize::checkStaticBatch(nn::ModelOp model) {
  if (batch == ShapedType::kDynamic)
    return success();
  for (BlockArgument argument : model.getBody().getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (type.getRank() != 0 && type.getDimSize(0) != batch)
      return model.emitError("the batch of model @")
             << model.getSymName() << " is " << type.getDimSize(0) << " in argument "
             << argument.getArgNumber() << ", not " << int64_t(batch)
             << ": write `?` as its dimension 0, or leave --batch out";
  }
  return success();
}

FailureOr<SmallVector<Type>> Specialize::bindArguments(nn::ModelOp model) {
  SmallVector<Type> types;
  bool anyDynamic = false;
  for (BlockArgument argument : model.getBody().getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    types.push_back(type);
    if (type.hasStaticShape())
      continue;
    if (llvm::is_contained(type.getShape().drop_front(), ShapedType::kDynamic))
      return model.emitError("argument ") << argument.getArgNumber() << " of model @" << model.getSymName()
                                          << " is " << type << "; only dimension 0, the batch, may be `?`";
    if (batch == ShapedType::kDynamic)
      return model.emitError("the batch of model @") << model.getSymName() << " is not bound: give --batch=N";
    anyDynamic = true;
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = batch;
    types.back() = RankedTensorType::get(shape, type.getElementType(), type.getEncoding());
  }
  if (!anyDynamic && failed(checkStaticBatch(model)))
    return failure();
  for (auto [index, type] : llvm::enumerate(types)) {
    auto error = [&, index = index] {
      InFlightDiagnostic diagnostic = model.emitError("argument ") << index;
      if (auto name = model.getArgAttrOfType<StringAttr>(index, "nn.name"))
        diagnostic << ", '" << name.getValue() << "',";
      diagnostic << " of model @" << model.getSymName() << " is ";
      return diagnostic;
    };
    if (failed(nn::checkBytes(type, error)))
      return failure();
  }
  return types;
}

LogicalResult Specialize::specialize(nn::ModelOp model) {
  FailureOr<SmallVector<Type>> argumentTypes = bindArguments(model);
  if (failed(argumentTypes))
    return failure();

  Block &old = model.getBody().front();
  auto *body = new Block();
  model.getBody().push_back(body);
  IRMapping mapping;
  for (auto [argument, type] : llvm::zip_equal(old.getArguments(), *argumentTypes))
    mapping.map(argument, body->addArgument(type, argument.getLoc()));

  OpBuilder builder = OpBuilder::atBlockEnd(body);
  passes::Expander expander(getOperation(), builder, batch);
  if (failed(expander.expand(old, "", mapping)))
    return failure();
  Operation *end = builder.clone(*old.getTerminator(), mapping);
  model.setFunctionType(builder.getFunctionType(*argumentTypes, end->getOperandTypes()));
  old.dropAllDefinedValueUses();
  old.erase();
  return success();
}

void Specialize::runOnOperation() {
  ModuleOp module = getOperation();
  if (batch != ShapedType::kDynamic && batch < 1) {
    module.emitError("--batch must be at least 1, got ") << int64_t(batch);
    return signalPassFailure();
  }
  for (nn::ModelOp model : module.getOps<nn::ModelOp>())
    if (failed(specialize(model)))
      return signalPassFailure();
  for (nn::BlockOp block : llvm::make_early_inc_range(module.getOps<nn::BlockOp>()))
    block.erase();
}
