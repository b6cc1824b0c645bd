//===- AutodiffPass.cpp - from a model to its steps -----------------------===//

#include "passes/autodiff/AutodiffPass.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "dialects/nn/Utils/DeadCode.h"
#include "passes/autodiff/StepBuilder.h"
#include "passes/decompose/DecomposePass.h"
#include "llvm/ADT/StringSwitch.h"
#include <cmath>
#include <optional>

namespace pdc::passes {
#define GEN_PASS_DEF_AUTODIFFPASS
#include "passes/autodiff/AutodiffPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;
using pdc::passes::StepMode;

namespace {
class Autodiff : public passes::impl::AutodiffPassBase<Autodiff> {
public:
  using AutodiffPassBase::AutodiffPassBase;
  void runOnOperation() override;

private:
  FailureOr<SmallVector<StepMode>> parseModes();
  FailureOr<passes::TrainingOptions> parseTraining();
  LogicalResult checkModel(nn::ModelOp model, ArrayRef<StepMode> modes);
  LogicalResult addStep(nn::ModelOp model, StepMode mode, const passes::TrainingOptions &training,
                        bool warnUnused);
};
} // namespace

static bool isScalar(Type type) { return cast<RankedTensorType>(type).getRank() == 0; }
static bool differentiates(StepMode mode) { return mode == StepMode::Train || mode == StepMode::Gradient; }

FailureOr<SmallVector<StepMode>> Autodiff::parseModes() {
  if (modes.empty())
    return SmallVector<StepMode>{StepMode::Train, StepMode::Gradient, StepMode::Evaluate, StepMode::Infer};
  SmallVector<StepMode> result;
  for (const std::string &name : modes) {
    auto mode = llvm::StringSwitch<std::optional<StepMode>>(name)
                    .Case("train", StepMode::Train)
                    .Case("gradient", StepMode::Gradient)
                    .Case("evaluate", StepMode::Evaluate)
                    .Case("infer", StepMode::Infer)
                    .Default(std::nullopt);
    if (!mode)
      return getOperation().emitError("unknown mode '")
             << name << "'; expected train, gradient, evaluate or infer";
    if (llvm::is_contained(result, *mode))
      return getOperation().emitError("mode '") << name << "' is given twice";
    result.push_back(*mode);
  }
  return result;
}

FailureOr<passes::TrainingOptions> Autodiff::parseTraining() {
  auto emitError = [&] { return getOperation().emitError(); };
  passes::TrainingOptions training;
  auto made = passes::createOptimizer(
      optimizer, SmallVector<std::string>(hyperparameters.begin(), hyperparameters.end()), emitError);
  if (failed(made))
    return failure();
  training.optimizer = *made;
  training.clipNorm = clipNorm;
  training.pairs = pairs;
  if (!(clipNorm >= 0) || !std::isfinite(clipNorm))
    return emitError() << "clip-norm must be a positive number, or 0 for no clipping; got "
                       << double(clipNorm);
  return training;
}

LogicalResult Autodiff::checkModel(nn::ModelOp model, ArrayRef<StepMode> modes) {
  for (Operation &op : model.getBody().front()) {
    if (isa<nn::CallOp, nn::RepeatOp>(op))
      return op.emitOpError("must be expanded before autodiff: run specialize");
    for (Type type : op.getResultTypes())
      if (!cast<RankedTensorType>(type).hasStaticShape())
        return op.emitOpError("gives ")
               << type << "; the batch must be bound before autodiff: run specialize";
  }
  for (StepMode mode : modes)
    if (differentiates(mode) && model.getBody().front().getOps<nn::ParamOp>().empty())
      return model.emitError("model @")
             << model.getSymName() << " has no parameters, so it cannot be used to " << getModeName(mode);
  return success();
}

/// In evaluation and inference, normalization uses the running statistics and dropout does nothing.
static void setInference(nn::ModelOp model) {
  model.walk([](Operation *op) {
    if (auto norm = dyn_cast<nn::BatchNormOp>(op))
      norm.setInference(true);
    if (auto dropout = dyn_cast<nn::DropoutOp>(op))
      dropout.setInference(true);
  });
}

/// Drops the results that the mode does not give: scalars in inference, all others else.
static void selectResults(nn::ModelOp model, StepMode mode) {
  llvm::BitVector dropped(model.getNumResults());
  for (auto [index, type] : llvm::enumerate(model.getResultTypes()))
    if (isScalar(type) == (mode == StepMode::Infer))
      dropped.set(index);
  if (dropped.none())
    return;
  model.getBody().front().getTerminator()->eraseOperands(dropped);
  (void)model.eraseResults(dropped);
}

LogicalResult Autodiff::addStep(nn::ModelOp model, StepMode mode, const passes::TrainingOptions &training,
                                bool warnUnused) {
  if (mode == StepMode::Infer && llvm::all_of(model.getResultTypes(), isScalar))
    return success(); // there is nothing to infer
  OwningOpRef<nn::ModelOp> copy(model.clone());
  selectResults(*copy, mode);
  if (!differentiates(mode))
    setInference(*copy);
  if (failed(passes::decomposeOps(*copy, nn::DecomposeStage::BeforeAutodiff)))
    return failure();
  Block &body = copy->getBody().front();
  if (mode != StepMode::Train)
    for (nn::AssignOp assign : llvm::make_early_inc_range(body.getOps<nn::AssignOp>()))
      assign.erase();
  OpBuilder builder(model);
  return passes::StepBuilder(*copy, mode, training).build(builder, warnUnused);
}

void Autodiff::runOnOperation() {
  ModuleOp module = getOperation();
  auto models = llvm::to_vector(module.getOps<nn::ModelOp>());
  if (models.size() != 1) {
    module.emitError("expected one nn.model in the module, found ") << models.size();
    return signalPassFailure();
  }
  nn::ModelOp model = models.front();
  auto modeList = parseModes();
  auto training = parseTraining();
  if (failed(modeList) || failed(training) || failed(checkModel(model, *modeList)))
    return signalPassFailure();

  bool warnUnused = true;
  for (StepMode mode : *modeList) {
    if (failed(addStep(model, mode, *training, warnUnused)))
      return signalPassFailure();
    warnUnused &= !differentiates(mode);
  }
  module->setAttr("nn.model_name", model.getSymNameAttr());
  model.erase();
}
