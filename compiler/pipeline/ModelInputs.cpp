//===- ModelInputs.cpp - what data an executable takes --------------------===//

#include "compiler/pipeline/ModelInputs.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/memory/Instruction.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

static std::vector<program::InputT> inputsOf(nn::StepOp step) {
  std::vector<program::InputT> inputs;
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
    auto role = step.getArgAttrOfType<StringAttr>(index, "nn.role");
    auto name = step.getArgAttrOfType<StringAttr>(index, "nn.name");
    if (!role || role.getValue() != "input")
      continue;
    auto tensor = cast<RankedTensorType>(type);
    program::InputT &input = inputs.emplace_back();
    input.name = name ? name.str() : "";
    input.element_type = passes::toElementType(tensor.getElementType());
    input.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  }
  return inputs;
}

ModelInputs pdc::pipeline::collectInputs(ModuleOp module) {
  ModelInputs inputs;
  for (nn::StepOp step : module.getOps<nn::StepOp>())
    inputs.try_emplace(step.getKind().str(), inputsOf(step));
  return inputs;
}

/// Of the step that a program is made of.
static StringRef kindOf(program::Mode mode) {
  switch (mode) {
  case program::Mode::kTrain:
    return "train";
  case program::Mode::kEvaluate:
    return "evaluate";
  case program::Mode::kInfer:
    return "infer";
  case program::Mode::kGradient:
  case program::Mode::kReferenceGradient:
    return "gradient";
  }
  llvm_unreachable("a mode");
}

void pdc::pipeline::setInputs(program::ExecutableT &executable, const ModelInputs &inputs) {
  for (const auto &program : executable.programs) {
    auto found = inputs.find(kindOf(program->mode).str());
    if (found == inputs.end())
      continue;
    for (const program::InputT &input : found->second)
      program->inputs.push_back(std::make_unique<program::InputT>(input));
  }
}
