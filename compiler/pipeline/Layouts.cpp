//===- Layouts.cpp - the layouts of a plan, for its report ----------------===//

#include "compiler/pipeline/Layouts.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

static std::vector<std::string> strings(ArrayAttr array) {
  std::vector<std::string> texts;
  if (array)
    for (StringRef text : array.getAsValueRange<StringAttr>())
      texts.push_back(text.str());
  return texts;
}

/// Of arguments of a model or step, unless they are known.
template <typename Op>
static void addArguments(Op op, DimensionNames &names) {
  for (unsigned i = 0; i < op.getNumArguments(); ++i)
    if (auto name = op.template getArgAttrOfType<StringAttr>(i, "nn.name"))
      names.try_emplace(name.str(), strings(op.template getArgAttrOfType<ArrayAttr>(i, "nn.dims")));
}

DimensionNames pdc::pipeline::collectDimensionNames(ModuleOp module) {
  DimensionNames names;
  module.walk([&](Operation *op) {
    if (auto param = dyn_cast<nn::ParamOp>(op))
      names[param.getName().str()] = strings(param.getDimsAttr());
    if (auto state = dyn_cast<nn::StateOp>(op))
      names[state.getName().str()] = strings(state.getDimsAttr());
    if (auto model = dyn_cast<nn::ModelOp>(op))
      addArguments(model, names);
    if (auto step = dyn_cast<nn::StepOp>(op)) // of a plan without its model
      addArguments(step, names);
  });
  return names;
}

static ArrayRef<Attribute> stageMeshesOf(ModuleOp module) {
  auto meshes = module->getAttrOfType<ArrayAttr>(dist::kStageMeshesAttr);
  return meshes ? meshes.getValue() : ArrayRef<Attribute>();
}

std::vector<std::pair<nn::StepOp, std::vector<int64_t>>> pdc::pipeline::firstSteps(ModuleOp module) {
  std::vector<std::pair<nn::StepOp, std::vector<int64_t>>> found;
  for (nn::StepOp step : module.getOps<nn::StepOp>()) {
    bool isFirst = found.empty();
    if (!isFirst && (stageMeshesOf(module).empty() || step.getKind() != found.front().first.getKind()))
      continue;
    std::vector<int64_t> stages;
    for (auto [stage, mesh] : llvm::enumerate(stageMeshesOf(module)))
      if (mesh == step->getAttr(dist::kMeshAttr))
        stages.push_back(static_cast<int64_t>(stage));
    found.emplace_back(step, std::move(stages));
  }
  return found;
}

/// Parameters, states and inputs; or what an optimizer keeps of parameters, "optimizer.m.fc1.weight".
static void appendLayouts(nn::StepOp step, bool ofOptimizer, const std::vector<int64_t> &stages,
                          const DimensionNames &names, std::vector<plan::LayoutRow> &rows) {
  for (unsigned i = 0; i < step.getNumArguments(); ++i) {
    auto role = step.getArgAttrOfType<StringAttr>(i, "nn.role");
    auto name = step.getArgAttrOfType<StringAttr>(i, "nn.name");
    auto layout = step.getArgAttrOfType<dist::LayoutAttr>(i, dist::kLayoutAttr);
    bool isWanted = role && (ofOptimizer ? role == "optimizer_state"
                                         : role == "parameter" || role == "state" || role == "input");
    if (!isWanted || !name || !layout)
      continue;
    plan::LayoutRow row;
    row.value = name.str();
    if (auto slot = step.getArgAttrOfType<StringAttr>(i, "nn.slot"))
      row.value = "optimizer." + slot.str() + "." + row.value;
    llvm::append_range(row.shape, cast<RankedTensorType>(step.getArgument(i).getType()).getShape());
    if (auto declared = step.getArgAttrOfType<DenseI64ArrayAttr>(i, "nn.declared_shape"))
      llvm::append_range(row.declaredShape, declared.asArrayRef());
    if (auto found = names.find(name.str()); found != names.end())
      row.dimensionNames = found->second;
    for (Attribute axes : layout.getDims())
      row.axes.push_back(strings(cast<ArrayAttr>(axes)));
    row.blocks = layout.getBlocks().asArrayRef().vec();
    row.partialAxes = strings(layout.getSum());
    row.stages = stages;
    rows.push_back(std::move(row));
  }
}

std::vector<plan::LayoutRow> pdc::pipeline::collectLayouts(ModuleOp module, const DimensionNames &names,
                                                           bool ofOptimizer) {
  std::vector<plan::LayoutRow> rows;
  for (const auto &[step, stages] : firstSteps(module))
    appendLayouts(step, ofOptimizer, stages, names, rows);
  return rows;
}

std::vector<plan::StageMesh> pdc::pipeline::collectStageMeshes(ModuleOp module) {
  std::vector<plan::StageMesh> meshes;
  for (Attribute name : stageMeshesOf(module))
    if (auto mesh = module.lookupSymbol<dist::MeshOp>(cast<FlatSymbolRefAttr>(name).getAttr()))
      meshes.push_back({strings(mesh.getAxisNames()), mesh.getAxisSizes().vec()});
  return meshes;
}

std::pair<std::vector<std::string>, std::vector<int64_t>> pdc::pipeline::collectMesh(ModuleOp module) {
  for (dist::MeshOp mesh : module.getOps<dist::MeshOp>())
    return {strings(mesh.getAxisNames()), mesh.getAxisSizes().vec()};
  return {};
}
