//===- PlanFile.cpp - plans that a person keeps or edits ------------------===//

#include "compiler/pipeline/PlanFile.h"
#include "compiler/pipeline/ParseModule.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "passes/bias/BiasPasses.h"
#include "passes/layouts/Reshard.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SourceMgr.h"
#include <algorithm>

using namespace mlir;
using namespace pdc;

/// Leaves what is computed and removes how it is split.
static void removeLayouts(nn::StepOp step) {
  auto *context = step.getContext();
  step->removeAttr(dist::kMeshAttr);
  for (unsigned i = 0; i < step.getNumArguments(); ++i)
    step.removeArgAttr(i, StringAttr::get(context, dist::kLayoutAttr));
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    step.removeResultAttr(i, StringAttr::get(context, dist::kLayoutAttr));
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    op.removeAttr(dist::kLayoutsAttr);
    op.removeAttr(dist::kChunkAttr);
    if (isa<dist::AlikeOp>(op)) {
      op.erase();
    } else if (auto reshard = dyn_cast<dist::ReshardOp>(op)) {
      reshard.replaceAllUsesWith(reshard.getInput());
      reshard.erase();
    }
  }
}

/// The module without layouts, biases standing alone as a search leaves them.
static FailureOr<OwningOpRef<ModuleOp>> withoutLayouts(ModuleOp module) {
  OwningOpRef<ModuleOp> bare(module.clone());
  for (nn::StepOp step : bare->getOps<nn::StepOp>())
    removeLayouts(step);
  PassManager passes(module.getContext());
  passes.addPass(passes::createExposeBiasPass());
  // Values that only a hint for the search uses are in the one module and not in the other.
  passes.addPass(createCSEPass());
  if (failed(passes.run(*bare)))
    return failure();
  return bare;
}

static SmallVector<std::string> linesOf(nn::StepOp step) {
  std::string text;
  llvm::raw_string_ostream os(text);
  step.print(os, OpPrintingFlags().useLocalScope());
  SmallVector<StringRef> lines;
  StringRef(text).split(lines, '\n');
  return SmallVector<std::string>(lines.begin(), lines.end());
}

/// The text around its character `at`: lines of ops can be thousands of characters long.
static std::string excerpt(StringRef text, size_t at) {
  constexpr size_t before = 60, length = 160;
  size_t begin = at > before ? at - before : 0;
  return (begin > 0 ? "..." : "") + text.substr(begin, length).str() +
         (begin + length < text.size() ? "..." : "");
}

OwningOpRef<ModuleOp> pipeline::parsePlan(StringRef text, StringRef fileName, MLIRContext *context) {
  // With the plan's own lines in messages.
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, fileName), llvm::SMLoc());
  SourceMgrDiagnosticHandler diagnostics(sources, context, llvm::errs());
  return parseModule(sources, context);
}

/// As for --ranks and --micro-batches: more are a mistake, and would take for ever.
static constexpr int64_t kMostRanks = 65536;

static bool isCount(Attribute attribute) {
  auto number = dyn_cast_or_null<IntegerAttr>(attribute);
  return number && number.getType().isSignlessInteger(64) && number.getInt() >= 1 && number.getInt() <= kMostRanks;
}

/// That a pipeline is stated as a whole, by values that make sense by themselves.
static LogicalResult checkPipeline(ModuleOp plan) {
  constexpr StringLiteral names[] = {dist::kStagesAttr, dist::kMicroBatchesAttr, dist::kScheduleAttr};
  if (llvm::none_of(names, [&](StringRef name) { return plan->hasAttr(name); }))
    return success();
  for (StringRef name : names) {
    Attribute stated = plan->getAttr(name);
    bool isSchedule = name == dist::kScheduleAttr;
    auto text = dyn_cast_or_null<StringAttr>(stated);
    if (isSchedule ? text && !text.getValue().empty() : isCount(stated))
      continue;
    InFlightDiagnostic error = plan.emitError("states a pipeline: expected ") << name << " = ";
    error << (isSchedule ? "the name of a schedule, a string" : "a number from 1 to 65536, an i64");
    if (stated)
      return error << ", found " << stated;
    return error << ", found none; without a pipeline, remove " << dist::kStagesAttr << ", " << dist::kMicroBatchesAttr
                 << " and " << dist::kScheduleAttr;
  }
  return success();
}

/// Of the plan's mesh on all stages, or of the meshes of its stages.
static FailureOr<int64_t> countRanks(ModuleOp plan) {
  auto stages = plan->getAttrOfType<IntegerAttr>(dist::kStagesAttr);
  if (auto meshes = plan->getAttrOfType<ArrayAttr>(dist::kStageMeshesAttr)) {
    if (!stages || stages.getInt() != static_cast<int64_t>(meshes.size()))
      return plan.emitError("expected one mesh for each of the ")
             << (stages ? stages.getInt() : 1) << " stages (" << dist::kStagesAttr << "), found " << meshes.size() << " ("
             << dist::kStageMeshesAttr << ")";
    int64_t ranks = 0;
    for (Attribute name : meshes) {
      auto symbol = dyn_cast<FlatSymbolRefAttr>(name);
      auto mesh = symbol ? plan.lookupSymbol<dist::MeshOp>(symbol.getAttr()) : dist::MeshOp();
      if (!mesh)
        return plan.emitError("names ") << name << " as the mesh of a stage, which is no dist.mesh of the plan";
      ranks += mesh.getNumRanks();
    }
    return ranks;
  }
  auto meshes = llvm::to_vector(plan.getOps<dist::MeshOp>());
  if (meshes.size() != 1)
    return plan.emitError("expected a plan with one dist.mesh, or with one for each stage (")
           << dist::kStageMeshesAttr << "), found " << meshes.size();
  return meshes.front().getNumRanks() * (stages ? stages.getInt() : 1);
}

FailureOr<int64_t> pipeline::ranksOfPlan(ModuleOp plan) {
  if (failed(checkPipeline(plan)))
    return failure();
  for (auto mesh : plan.getOps<dist::MeshOp>()) {
    int64_t ranks = 1;
    for (int64_t size : mesh.getAxisSizes())
      if (size > kMostRanks || (ranks *= size) > kMostRanks)
        return mesh.emitOpError("expected a mesh of at most ") << kMostRanks << " ranks";
  }
  FailureOr<int64_t> ranks = countRanks(plan);
  if (succeeded(ranks) && *ranks > kMostRanks)
    return plan.emitError("expected a plan for at most ") << kMostRanks << " ranks, found " << *ranks;
  return ranks;
}

/// Where stages are not alike, the meshes that they are planned on, each once; else nothing.
static SmallVector<Attribute> meshesOfStages(ModuleOp plan) {
  llvm::SetVector<Attribute> meshes;
  if (auto stated = plan->getAttrOfType<ArrayAttr>(dist::kStageMeshesAttr))
    meshes.insert(stated.begin(), stated.end());
  return meshes.takeVector();
}

/// What of the plan is to be `step`, without layouts: one step, or one of its kind on each mesh of stages. `bare` is the plan
/// without layouts.
static FailureOr<SmallVector<nn::StepOp>> stepsLike(nn::StepOp step, ModuleOp plan, ModuleOp bare) {
  StringRef isMissing = "is a plan for another model or mode: it has no step @";
  SmallVector<Attribute> meshes = meshesOfStages(plan);
  if (meshes.empty()) {
    if (auto found = bare.lookupSymbol<nn::StepOp>(step.getSymName()))
      return SmallVector<nn::StepOp>{found};
    return plan.emitError(isMissing) << step.getSymName();
  }
  SmallVector<nn::StepOp> found;
  for (Attribute mesh : meshes) {
    size_t before = found.size();
    for (auto [planned, without] : llvm::zip(plan.getOps<nn::StepOp>(), bare.getOps<nn::StepOp>()))
      if (planned.getKind() == step.getKind() && planned->getAttr(dist::kMeshAttr) == mesh)
        found.push_back(without);
    if (found.size() != before + 1)
      return plan.emitError(isMissing) << step.getSymName() << ", or several, on the mesh " << mesh << " of a stage";
  }
  return found;
}

/// That two steps without layouts are one, but for their names.
static LogicalResult compareSteps(nn::StepOp expectedStep, nn::StepOp foundStep, ModuleOp plan) {
  std::string name = foundStep.getSymName().str();
  foundStep.setSymName(expectedStep.getSymName());
  SmallVector<std::string> expected = linesOf(expectedStep), found = linesOf(foundStep);
  foundStep.setSymName(name);
  for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    StringRef want = i < expected.size() ? StringRef(expected[i]).trim() : "the end",
              have = i < found.size() ? StringRef(found[i]).trim() : "the end";
    if (want == have)
      continue;
    size_t differs = std::mismatch(want.begin(), want.end(), have.begin(), have.end()).first - want.begin();
    return plan.emitError("is a plan for another model, batch, precision or optimizer: in step @")
           << name << ", without layouts, expected\n  " << excerpt(want, differs) << "\nfound\n  "
           << excerpt(have, differs);
  }
  return success();
}

/// That every value's layout is one on its step's mesh. Passes before `partition` count the bytes of its parts.
static LogicalResult checkMeshes(ModuleOp plan) {
  for (nn::StepOp step : plan.getOps<nn::StepOp>()) {
    auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr);
    auto mesh = name ? plan.lookupSymbol<dist::MeshOp>(name.getAttr()) : dist::MeshOp();
    if (!mesh)
      return step.emitOpError("has no mesh: expected the attribute dist.mesh to name a dist.mesh");
    for (Value argument : step.getBody().getArguments())
      if (failed(passes::checkFits(step, argument, mesh)))
        return failure();
    for (Operation &op : step.getBody().front())
      for (Value result : op.getResults())
        if (failed(passes::checkFits(&op, result, mesh)))
          return failure();
  }
  return success();
}

LogicalResult pipeline::takePlan(ModuleOp module, ModuleOp plan) {
  FailureOr<OwningOpRef<ModuleOp>> expectedModule = withoutLayouts(module),
                                   foundModule = withoutLayouts(plan);
  if (failed(expectedModule) || failed(foundModule))
    return failure();
  for (nn::StepOp step : (*expectedModule)->getOps<nn::StepOp>()) {
    FailureOr<SmallVector<nn::StepOp>> planned = stepsLike(step, plan, **foundModule);
    if (failed(planned))
      return failure();
    for (nn::StepOp found : *planned)
      if (failed(compareSteps(step, found, plan)))
        return failure();
  }
  if (failed(checkMeshes(plan)))
    return failure();
  for (StringRef name : {dist::kStagesAttr, dist::kMicroBatchesAttr, dist::kScheduleAttr, dist::kRecomputeAttr,
                         dist::kStageMeshesAttr, dist::kExchangeAttr})
    if (Attribute stated = plan->getAttr(name))
      module->setAttr(name, stated);
  for (nn::StepOp step : llvm::make_early_inc_range(module.getOps<nn::StepOp>()))
    step.erase();
  for (Operation &op : llvm::make_early_inc_range(*plan.getBody()))
    if (isa<nn::StepOp, dist::MeshOp>(op))
      op.moveBefore(module.getBody(), module.getBody()->end());
  return success();
}
