//===- StepBuilder.cpp - one step of a model ------------------------------===//

#include "passes/autodiff/StepBuilder.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/Utils/DeadCode.h"
#include "dialects/nn/Utils/Initializers.h"
#include "dialects/nn/Utils/Labels.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "passes/autodiff/ReverseMode.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

StringRef pdc::passes::getModeName(StepMode mode) {
  switch (mode) {
  case StepMode::Train:
    return "train";
  case StepMode::Gradient:
    return "gradient";
  case StepMode::Evaluate:
    return "evaluate";
  case StepMode::Infer:
    break;
  }
  return "infer";
}

StepBuilder::StepBuilder(nn::ModelOp model, StepMode mode, const TrainingOptions &options)
    : model(model), mode(mode), options(options), builder(model.getContext()) {}

StringRef StepBuilder::Variable::getName() const {
  return declaration->getAttrOfType<StringAttr>("name").getValue();
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value StepBuilder::addArgument(Type type, Location loc, StringRef role, StringRef name,
                               ArrayRef<NamedAttribute> more) {
  NamedAttrList attributes(more);
  attributes.set("nn.role", builder.getStringAttr(role));
  attributes.set("nn.name", builder.getStringAttr(name));
  argumentAttributes.push_back(attributes.getDictionary(builder.getContext()));
  return body->addArgument(type, loc);
}

SmallVector<int64_t> StepBuilder::Variable::getModelShape() const {
  auto param = dyn_cast<nn::ParamOp>(declaration);
  return SmallVector<int64_t>(
      param ? param.getModelShape()
            : cast<RankedTensorType>(declaration->getResult(0).getType()).getShape());
}

/// What its argument says of a variable, and that of the optimizer's state of a parameter, which has its shape.
SmallVector<NamedAttribute> StepBuilder::shapeAttributes(Operation *declaration) {
  SmallVector<NamedAttribute> attributes;
  if (Attribute dims = declaration->getAttr("dims"))
    attributes.push_back(builder.getNamedAttr("nn.dims", dims));
  if (auto param = dyn_cast<nn::ParamOp>(declaration); param && param.getDeclaredShape())
    attributes.push_back(builder.getNamedAttr("nn.declared_shape", param.getDeclaredShapeAttr()));
  return attributes;
}

void StepBuilder::addVariable(Operation *declaration, StringRef role, Variable &variable) {
  variable.declaration = declaration;
  Value value = declaration->getResult(0);
  auto init = declaration->getAttrOfType<nn::InitializerAttr>("init");
  SmallVector<NamedAttribute> more = shapeAttributes(declaration);
  more.push_back(builder.getNamedAttr("nn.init", nn::resolveInitializer(init, variable.getModelShape())));
  variable.argument = addArgument(value.getType(), value.getLoc(), role, variable.getName(), more);
}

LogicalResult StepBuilder::checkTrainable(const Variable &parameter) {
  Type type = parameter.argument.getType();
  if (getElementTypeOrSelf(type).isF32())
    return success();
  return parameter.declaration->emitOpError("'")
         << parameter.getName() << "' is " << type
         << "; training needs parameters in f32 (precision=bf16 computes in "
            "bf16 from f32 parameters)";
}

LogicalResult StepBuilder::addVariables() {
  Block &modelBody = model.getBody().front();
  for (nn::ParamOp param : modelBody.getOps<nn::ParamOp>())
    addVariable(param, "parameter", parameters.emplace_back());
  if (mode == StepMode::Train) {
    for (const Variable &parameter : parameters)
      if (failed(checkTrainable(parameter)))
        return failure();
    addOptimizerState();
  }
  for (nn::StateOp state : modelBody.getOps<nn::StateOp>())
    addVariable(state, "state", states.emplace_back());
  return success();
}

void StepBuilder::addOptimizerState() {
  nn::InitializerAttr zeros = nn::getInitializer(builder.getContext(), nn::Distribution());
  for (StringLiteral slot : options.optimizer.info->slots)
    for (Variable &parameter : parameters) {
      SmallVector<NamedAttribute> more = shapeAttributes(parameter.declaration);
      more.push_back(builder.getNamedAttr("nn.slot", builder.getStringAttr(slot)));
      more.push_back(builder.getNamedAttr("nn.init", zeros));
      parameter.slots.push_back(addArgument(parameter.argument.getType(), parameter.argument.getLoc(),
                                            "optimizer_state", parameter.getName(), more));
    }
}

void StepBuilder::addInputs() {
  Block &modelBody = model.getBody().front();
  for (BlockArgument argument : modelBody.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = model.getArgAttrOfType<StringAttr>(index, "nn.name");
    std::string text = name ? name.str() : "arg" + std::to_string(index);
    SmallVector<NamedAttribute> more;
    if (Attribute dims = model.getArgAttr(index, "nn.dims"))
      more.push_back(builder.getNamedAttr("nn.dims", dims));
    argument.replaceAllUsesWith(addArgument(argument.getType(), argument.getLoc(), "input", text, more));
  }
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  learningRate = addArgument(scalar, model.getLoc(), "learning_rate", "learning_rate");
  step = addArgument(scalar, model.getLoc(), "step", "step");

  Value seed = addArgument(RankedTensorType::get({}, builder.getI64Type()), model.getLoc(), "seed", "seed");
  for (nn::StepSeedOp op : llvm::make_early_inc_range(modelBody.getOps<nn::StepSeedOp>())) {
    op.replaceAllUsesWith(seed);
    op.erase();
  }
}

/// Moves the model's ops into the step; its parameters and states become the step's arguments.
void StepBuilder::takeBody() {
  Block &modelBody = model.getBody().front();
  body->getOperations().splice(body->end(), modelBody.getOperations());
  for (auto *variables : {&parameters, &states})
    for (Variable &variable : *variables)
      variable.declaration->getResult(0).replaceAllUsesWith(variable.argument);
  modelReturn = body->getTerminator();
  builder.setInsertionPoint(modelReturn);
}

LogicalResult StepBuilder::takeAssignments() {
  for (nn::AssignOp assign : llvm::make_early_inc_range(body->getOps<nn::AssignOp>())) {
    auto state =
        llvm::find_if(states, [&](Variable &variable) { return variable.argument == assign.getState(); });
    if (state->update)
      return assign.emitOpError("assigns to state '")
             << state->getName() << "' a second time; each state takes one value a step";
    state->update = assign.getValue();
    assign.erase();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Gradients and updates
//===----------------------------------------------------------------------===//

LogicalResult StepBuilder::addGradients(bool warnUnused) {
  SmallVector<Value> sources;
  for (Variable &parameter : parameters)
    sources.push_back(parameter.argument);
  auto nameOf = [&](Value value) {
    return llvm::find_if(parameters, [&](Variable &parameter) { return parameter.argument == value; })
        ->getName()
        .str();
  };
  // The summands of a sum share their gradient with it: it is the sum's, or all three would be laid out alike.
  DenseSet<Value> paired;
  auto keepPair = [&](Value value, Value gradient) {
    if (options.pairs && paired.insert(gradient).second)
      pairs.emplace_back(value, gradient);
  };
  auto gradients = buildGradients(builder, modelReturn->getOperand(0), sources, nameOf, keepPair);
  if (failed(gradients))
    return failure();
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, *gradients)) {
    parameter.gradient = gradient;
    if (gradient)
      continue;
    if (warnUnused)
      parameter.declaration->emitWarning("parameter '")
          << parameter.getName() << "' does not influence the loss; its gradient is zero";
    parameter.gradient = nn::ConstantOp::create(builder, parameter.declaration->getLoc(),
                                                cast<RankedTensorType>(parameter.argument.getType()), 0.0);
  }
  return success();
}

/// optax.clip_by_global_norm: scaled by min(1, clip / norm); a norm of zero gives a scale of 1.
SmallVector<Value> StepBuilder::clipGradients() {
  SmallVector<Value> gradients;
  for (Variable &parameter : parameters)
    gradients.push_back(parameter.gradient);
  if (options.clipNorm == 0)
    return gradients;

  TensorMath math(builder, nn::withLabel("clip", model.getLoc()));
  Value sum;
  for (Value gradient : gradients) {
    Value squares = math.sumOfSquares(gradient);
    sum = sum ? math.add(sum, squares) : squares;
  }
  gradientNorm = math.sqrt(sum);
  Value scale = math.min(math.div(math.scalar(options.clipNorm), gradientNorm), math.scalar(1));
  for (Value &gradient : gradients)
    gradient = math.mul(gradient, scale);
  return gradients;
}

void StepBuilder::addUpdates() {
  // In the order in which gradients are ready, so that a gradient's life, and its all-reduce, ends early.
  auto order = llvm::to_vector(llvm::seq<size_t>(0, parameters.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    Operation *first = parameters[a].gradient.getDefiningOp();
    Operation *second = parameters[b].gradient.getDefiningOp();
    return first == second ? a < b : first && (!second || first->isBeforeInBlock(second));
  });
  SmallVector<Value> gradients = clipGradients();
  for (size_t index : order) {
    Variable &parameter = parameters[index];
    UpdateInput input{parameter.argument,
                      gradients[index],
                      parameter.slots,
                      learningRate,
                      step,
                      /*decays=*/parameter.getModelShape().size() > 1 && !parameter.declaration->hasAttr("no_decay")};
    TensorMath math(builder, nn::withLabel(parameter.getName(), parameter.declaration->getLoc()));
    UpdateResult result = options.optimizer.buildUpdate(math, input);
    parameter.update = result.parameter;
    parameter.slotUpdates = result.slots;
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void StepBuilder::addResult(Value value, StringRef role, StringRef name, StringRef slot) {
  NamedAttrList attributes;
  attributes.set("nn.role", builder.getStringAttr(role));
  attributes.set("nn.name", builder.getStringAttr(name));
  if (!slot.empty())
    attributes.set("nn.slot", builder.getStringAttr(slot));
  results.push_back(value);
  resultAttributes.push_back(attributes.getDictionary(builder.getContext()));
}

/// The model's own results: the loss and metrics, or, in inference, what is not a scalar.
void StepBuilder::addModelResults() {
  for (auto [index, value] : llvm::enumerate(modelReturn->getOperands())) {
    bool isScalar = cast<RankedTensorType>(value.getType()).getRank() == 0;
    if (isScalar == (mode == StepMode::Infer))
      continue;
    auto name = model.getResultAttrOfType<StringAttr>(index, "nn.name");
    std::string fallback = index == 0 && isScalar ? "loss" : "result" + std::to_string(index);
    StringRef role = !isScalar ? "output" : index == 0 ? "loss" : "metric";
    addResult(value, role, name ? name.getValue() : StringRef(fallback));
  }
  if (gradientNorm)
    addResult(gradientNorm, "metric", "grad_norm");
}

void StepBuilder::addTrainingResults() {
  for (Variable &parameter : parameters)
    addResult(parameter.update, "parameter", parameter.getName());
  for (auto [index, slot] : llvm::enumerate(options.optimizer.info->slots))
    for (Variable &parameter : parameters)
      addResult(parameter.slotUpdates[index], "optimizer_state", parameter.getName(), slot);
  for (Variable &state : states)
    if (state.update)
      addResult(state.update, "state", state.getName());
}

/// As ops, so that common subexpressions may be replaced under them.
void StepBuilder::statePairs() {
  for (auto [value, gradient] : pairs)
    if (value != gradient)
      dist::AlikeOp::create(builder, value.getLoc(), value, gradient);
}

/// A pair keeps its values alive: drops those of which one has no other use (and what then has none).
void StepBuilder::dropUselessPairs() {
  auto isUsed = [](Value value) {
    return llvm::any_of(value.getUsers(), [](Operation *user) { return !isa<dist::AlikeOp>(user); });
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (dist::AlikeOp pair : llvm::make_early_inc_range(body->getOps<dist::AlikeOp>()))
      if (!isUsed(pair.getValue()) || !isUsed(pair.getOther())) {
        pair.erase();
        changed = true;
      }
    nn::eraseDeadOps(*body);
  }
}

/// Returns the results, removes what they do not need, and gives the step its type.
void StepBuilder::finish(nn::StepOp step) {
  statePairs();
  nn::ReturnOp::create(builder, model.getLoc(), results);
  auto resultTypes =
      llvm::to_vector(ValueRange(results).getTypes()); // the values may not outlive what follows
  modelReturn->erase();
  IRRewriter rewriter(builder.getContext());
  DominanceInfo dominance(step);
  eliminateCommonSubExpressions(rewriter, dominance, step);
  nn::eraseDeadOps(*body);
  dropUselessPairs();

  bool differentiates = mode == StepMode::Train || mode == StepMode::Gradient;
  llvm::BitVector unused(body->getNumArguments());
  SmallVector<Attribute> kept;
  for (BlockArgument argument : body->getArguments()) {
    DictionaryAttr attributes = argumentAttributes[argument.getArgNumber()];
    bool isState = llvm::any_of(states, [&](Variable &s) { return s.argument == argument && s.update; });
    bool isTrained = differentiates && cast<StringAttr>(attributes.get("nn.role")).getValue() == "parameter";
    if (argument.use_empty() && !isState && !isTrained)
      unused.set(argument.getArgNumber());
    else
      kept.push_back(attributes);
  }
  body->eraseArguments(unused);
  step.setFunctionType(builder.getFunctionType(body->getArgumentTypes(), resultTypes));
  step.setArgAttrsAttr(builder.getArrayAttr(kept));
  step.setResAttrsAttr(
      builder.getArrayAttr(SmallVector<Attribute>(resultAttributes.begin(), resultAttributes.end())));
}

FailureOr<nn::StepOp> StepBuilder::build(OpBuilder &at, bool warnUnused) {
  nn::StepOp result = nn::StepOp::create(at, model.getLoc(), getModeName(mode), at.getFunctionType({}, {}),
                                         getModeName(mode), ArrayAttr(), ArrayAttr());
  body = new Block();
  result.getBody().push_back(body);
  if (failed(addVariables()))
    return failure();
  addInputs();
  takeBody();
  if (failed(takeAssignments()))
    return failure();
  bool differentiates = mode == StepMode::Train || mode == StepMode::Gradient;
  if (differentiates && failed(addGradients(warnUnused)))
    return failure();
  if (mode == StepMode::Train)
    addUpdates();
  addModelResults();
  if (mode == StepMode::Gradient)
    for (Variable &parameter : parameters)
      addResult(parameter.gradient, "gradient", parameter.getName());
  if (mode == StepMode::Train)
    addTrainingResults();
  finish(result);
  return result;
}
