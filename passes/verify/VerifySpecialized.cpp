//===- VerifySpecialized.cpp - what specialize promises -------------------===//

#include "dialects/nn/IR/NN.h"
#include "passes/verify/VerifyPasses.h"

namespace pdc::passes {
#define GEN_PASS_DEF_VERIFYSPECIALIZEDPASS
#include "passes/verify/VerifyPasses.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

static bool isStatic(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return !shaped || shaped.hasStaticShape();
}

static LogicalResult verifyTypes(nn::ModelOp model) {
  for (BlockArgument argument : model.getBody().getArguments())
    if (!isStatic(argument.getType()))
      return model.emitError("argument ")
             << argument.getArgNumber() << " of model @" << model.getSymName() << " is " << argument.getType()
             << "; its batch should have been bound";
  WalkResult walk = model.getBody().walk([](Operation *op) {
    for (Type type : op->getResultTypes())
      if (!isStatic(type))
        return WalkResult(op->emitOpError("gives ") << type << "; every shape should be static by now");
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult verifyNames(nn::ModelOp model) {
  llvm::StringMap<Operation *> declarations;
  for (Operation &op : model.getBody().front()) {
    if (!isa<nn::ParamOp, nn::StateOp>(op))
      continue;
    StringRef name = op.getAttrOfType<StringAttr>("name").getValue();
    auto [known, isNew] = declarations.try_emplace(name, &op);
    if (isNew)
      continue;
    InFlightDiagnostic error = op.emitOpError("'")
                               << name << "' is declared twice; names must be unique in a model";
    error.attachNote(known->second->getLoc()) << "first declared here";
    return error;
  }
  return success();
}

static LogicalResult verifyDropout(nn::ModelOp model) {
  llvm::DenseSet<int64_t> streams;
  for (nn::DropoutOp dropout : model.getBody().front().getOps<nn::DropoutOp>()) {
    if (!dropout.getStream())
      return dropout.emitOpError("has no stream; specialize should have given it one");
    if (!streams.insert(*dropout.getStream()).second)
      return dropout.emitOpError("has stream ")
             << *dropout.getStream() << ", which another nn.dropout has too";
  }
  return success();
}

namespace {
class VerifySpecialized : public passes::impl::VerifySpecializedPassBase<VerifySpecialized> {
public:
  using VerifySpecializedPassBase::VerifySpecializedPassBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    WalkResult walk = getOperation().walk([](Operation *op) {
      if (isa<nn::BlockOp, nn::CallOp, nn::RepeatOp>(op))
        return WalkResult(op->emitOpError("should have been expanded by specialize"));
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    for (nn::ModelOp model : getOperation().getOps<nn::ModelOp>())
      if (failed(verifyTypes(model)) || failed(verifyNames(model)) || failed(verifyDropout(model)))
        return signalPassFailure();
  }
};
} // namespace
