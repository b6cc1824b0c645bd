//===- VerifyStep.cpp - what autodiff promises ----------------------------===//

#include "dialects/nn/IR/NN.h"
#include "dialects/nn/Utils/Sizes.h"
#include "passes/verify/VerifyPasses.h"
#include <map>
#include <tuple>

namespace pdc::passes {
#define GEN_PASS_DEF_VERIFYSTEPPASS
#include "passes/verify/VerifyPasses.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

namespace {

/// Checks one step.
class StepVerifier {
public:
  explicit StepVerifier(nn::StepOp step) : step(step), kind(step.getKind()) {}

  LogicalResult verify() {
    return failure(failed(verifyOps()) || failed(verifyArguments()) || failed(verifyResults()) ||
                   failed(verifyUpdates()));
  }

private:
  /// Role, slot and name, which tell a value of a step from all others.
  using Key = std::tuple<StringRef, StringRef, StringRef>;

  LogicalResult verifyOps();
  LogicalResult verifyArguments();
  LogicalResult verifyDeclaredShape(unsigned index, Type type, const Key &key, DictionaryAttr attributes);
  LogicalResult verifyResults();
  LogicalResult verifyResult(unsigned index, Type type, const Key &key);
  LogicalResult verifyUpdates();
  FailureOr<Key> readKey(StringRef what, unsigned index, DictionaryAttr attributes,
                         ArrayRef<StringRef> roles);
  std::string describe(const Key &key);

  nn::StepOp step;
  StringRef kind;
  std::map<Key, Type> arguments;
  std::map<Key, Type> results;
};

} // namespace

std::string StepVerifier::describe(const Key &key) {
  auto [role, slot, name] = key;
  return (role + (slot.empty() ? "" : " \"" + slot + "\" of") + " '" + name + "'").str();
}

LogicalResult StepVerifier::verifyOps() {
  for (Operation &op : step.getBody().front()) {
    if (isa<nn::ParamOp, nn::StateOp, nn::AssignOp, nn::StepSeedOp, nn::CallOp, nn::RepeatOp>(op))
      return op.emitOpError("should have become an argument or result of the step");
    auto composite = dyn_cast<nn::DecomposableOpInterface>(op);
    if (composite && composite.getDecomposeStage() == nn::DecomposeStage::BeforeAutodiff)
      return op.emitOpError("should have been decomposed before autodiff");
    // Gradients and decompositions may make larger values than the model has.
    if (failed(nn::checkResultBytes(&op)))
      return failure();
  }
  return success();
}

FailureOr<StepVerifier::Key> StepVerifier::readKey(StringRef what, unsigned index, DictionaryAttr attributes,
                                                   ArrayRef<StringRef> roles) {
  auto get = [&](StringRef name) {
    auto attribute = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
    return attribute ? attribute.getValue() : StringRef();
  };
  Key key = {get("nn.role"), get("nn.slot"), get("nn.name")};
  auto [role, slot, name] = key;
  if (role.empty() || name.empty())
    return step.emitOpError() << what << " " << index << " needs nn.role and nn.name";
  if (!llvm::is_contained(roles, role)) {
    InFlightDiagnostic error = step.emitOpError() << what << " " << index << " has the role \"" << role
                                                  << "\"; in a step of kind \"" << kind << "\" it may be ";
    llvm::interleave(roles, [&](StringRef r) { error << "\"" << r << "\""; }, [&] { error << ", "; });
    return error;
  }
  if ((role == "optimizer_state") == slot.empty())
    return step.emitOpError() << what << " " << index << " has the role \"" << role << "\", which "
                              << (slot.empty() ? "needs an nn.slot" : "has no nn.slot");
  return key;
}

/// The shape in the model is another one of the same elements.
LogicalResult StepVerifier::verifyDeclaredShape(unsigned index, Type type, const Key &key, DictionaryAttr attributes) {
  Attribute attribute = attributes.get("nn.declared_shape");
  if (!attribute)
    return success();
  auto declared = dyn_cast<DenseI64ArrayAttr>(attribute);
  StringRef role = std::get<0>(key);
  if (!declared || (role != "parameter" && role != "optimizer_state") ||
      ShapedType::getNumElements(declared.asArrayRef()) != cast<RankedTensorType>(type).getNumElements())
    return step.emitOpError("argument ")
           << index << ", " << describe(key) << ", has the nn.declared_shape " << attribute
           << ": expected, of parameters and optimizer state only, array<i64: ...> with as many elements as " << type
           << " has";
  return success();
}

LogicalResult StepVerifier::verifyArguments() {
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
    DictionaryAttr attributes = step.getArgAttrDict(index);
    auto key = readKey("argument", index, attributes,
                       {"parameter", "optimizer_state", "state", "input", "learning_rate", "step", "seed"});
    if (failed(key))
      return failure();
    if (!arguments.try_emplace(*key, type).second)
      return step.emitOpError("has ") << describe(*key) << " as an argument twice";
    StringRef role = std::get<0>(*key);
    bool persists = role == "parameter" || role == "optimizer_state" || role == "state";
    if (persists && !attributes.getAs<nn::InitializerAttr>("nn.init"))
      return step.emitOpError("argument ") << index << ", " << describe(*key) << ", needs an nn.init";
    if (failed(verifyDeclaredShape(index, type, *key, attributes)))
      return failure();
    if (role == "optimizer_state" && !arguments.count({"parameter", "", std::get<2>(*key)}))
      return step.emitOpError("argument ")
             << index << ", " << describe(*key) << ", comes without that parameter";
    bool isRate = role == "learning_rate" || role == "step";
    auto tensor = cast<RankedTensorType>(type);
    if ((isRate && !(tensor.getRank() == 0 && tensor.getElementType().isF32())) ||
        (role == "seed" && !(tensor.getRank() == 0 && tensor.getElementType().isInteger(64))))
      return step.emitOpError("argument ") << index << ", the " << role << ", must be "
                                           << (isRate ? "tensor<f32>" : "tensor<i64>") << ", but is " << type;
  }
  return success();
}

LogicalResult StepVerifier::verifyResult(unsigned index, Type type, const Key &key) {
  auto [role, slot, name] = key;
  auto tensor = cast<RankedTensorType>(type);
  if (role == "loss" && (tensor.getRank() != 0 || !isa<FloatType>(tensor.getElementType())))
    return step.emitOpError("result ")
           << index << ", the loss, must be a floating-point scalar, but is " << type;
  if (role == "metric" && tensor.getRank() != 0)
    return step.emitOpError("result ")
           << index << ", " << describe(key) << ", must be a scalar, but is " << type;
  if (role == "loss" || role == "metric" || role == "output")
    return success();
  auto argument = arguments.find(role == "gradient" ? Key{"parameter", "", name} : key);
  if (argument == arguments.end())
    return step.emitOpError("result ") << index << " is the " << (role == "gradient" ? "" : "new value of ")
                                       << describe(key) << ", which is no argument";
  if (argument->second != type)
    return step.emitOpError("result ") << index << ", " << describe(key) << ", is " << type
                                       << ", but its argument is " << argument->second;
  return success();
}

LogicalResult StepVerifier::verifyResults() {
  SmallVector<StringRef> roles = {"loss", "metric"};
  if (kind == "train")
    roles.append({"parameter", "optimizer_state", "state"});
  else if (kind == "gradient")
    roles.push_back("gradient");
  else if (kind == "infer")
    roles = {"output"};
  else if (kind != "evaluate")
    return step.emitOpError("has the kind \"") << kind << "\"; expected train, gradient, evaluate or infer";
  unsigned losses = 0;
  for (auto [index, type] : llvm::enumerate(step.getResultTypes())) {
    auto key = readKey("result", index, step.getResultAttrDict(index), roles);
    if (failed(key) || failed(verifyResult(index, type, *key)))
      return failure();
    if (!results.try_emplace(*key, type).second)
      return step.emitOpError("has ") << describe(*key) << " as a result twice";
    losses += std::get<0>(*key) == "loss";
  }
  if (kind != "infer" && losses != 1)
    return step.emitOpError("has ") << losses << " losses among its results, expected one";
  return success();
}

/// In training every parameter and every slot moves; otherwise none does, and each parameter may have a
/// gradient.
LogicalResult StepVerifier::verifyUpdates() {
  for (auto &[key, type] : arguments) {
    auto [role, slot, name] = key;
    if (kind == "train" && (role == "parameter" || role == "optimizer_state") && !results.count(key))
      return step.emitOpError("has no new value of ") << describe(key) << " among its results";
    if (kind == "gradient" && role == "parameter" && !results.count({"gradient", "", name}))
      return step.emitOpError("has no gradient of ") << describe(key) << " among its results";
  }
  return success();
}

namespace {
class VerifyStep : public passes::impl::VerifyStepPassBase<VerifyStep> {
public:
  using VerifyStepPassBase::VerifyStepPassBase;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (Operation &op : *getOperation().getBody()) {
      if (isa<nn::ModelOp, nn::BlockOp>(op)) {
        op.emitOpError("should have become steps");
        return signalPassFailure();
      }
      if (auto step = dyn_cast<nn::StepOp>(op); step && failed(StepVerifier(step).verify()))
        return signalPassFailure();
    }
  }
};
} // namespace
