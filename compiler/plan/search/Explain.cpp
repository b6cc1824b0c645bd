//===- Explain.cpp - why a plan is as it is -------------------------------===//

#include "compiler/plan/search/Explain.h"
#include "compiler/plan/problem/RunnerUps.h"
#include "compiler/plan/search/ExplainCommunication.h"
#include "dialects/nn/Utils/Labels.h"
#include "mlir/IR/Diagnostics.h"
#include "passes/layouts/BatchSplit.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;

/// "rows over data, n over tensor"
static std::string describeSplit(Operation *op, const passes::OpSplit &split, dist::MeshOp mesh) {
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable)
    return "whole";
  std::string text;
  nn::ShardingRule rule = shardable.getShardingRule();
  for (auto [factor, axes] : llvm::zip(rule.factors, split.factorAxes))
    for (int64_t axis : axes)
      text += (text.empty() ? "" : ", ") + factor.name + " over " +
              cast<StringAttr>(mesh.getAxisNames()[axis]).str();
  return text.empty() ? "whole" : text;
}

namespace {
/// The axes by name, and where they split.
struct Usage {
  llvm::StringSet<> batch, parameters, states;
  int64_t batchParts = 1;

  void addBatch(ArrayAttr axes, dist::MeshOp mesh) {
    for (StringRef axis : axes.getAsValueRange<StringAttr>())
      batch.insert(axis);
    batchParts = std::max(batchParts, mesh.getParts(axes));
  }
};
} // namespace

static void addAxes(LayoutAttr layout, llvm::StringSet<> &axes) {
  for (int64_t dim = 0; dim < layout.getRank(); ++dim)
    for (StringRef axis : layout.getAxes(dim).getAsValueRange<StringAttr>())
      axes.insert(axis);
}

/// The axes over which most ops that work on the batch have it split; of equally many, the first. Null where the batch cannot
/// be followed.
static ArrayAttr axesOfMostOps(nn::StepOp step) {
  ScopedDiagnosticHandler quiet(step.getContext(), [](Diagnostic &) { return success(); });
  passes::BatchSplit batch(step, {"batch", 1, "part", "parts", /*evenIfOne=*/true});
  if (failed(batch.run()))
    return nullptr;
  llvm::MapVector<Attribute, int64_t> counts;
  for (Operation &op : step.getBody().front()) {
    if (isa<dist::ReshardOp>(op) || op.getNumResults() == 0 || !batch.isSplit(op.getResult(0)))
      continue;
    LayoutAttr where = batch.layoutOf(op.getResult(0));
    auto layouts = op.getAttrOfType<ArrayAttr>(dist::kLayoutsAttr);
    for (int64_t dim = 0; dim < where.getRank(); ++dim)
      if (where.isSplit(dim))
        ++counts[layouts ? cast<LayoutAttr>(layouts[0]).getAxes(dim) : ArrayAttr::get(step.getContext(), {})];
  }
  auto most = llvm::max_element(counts, [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == counts.end() ? nullptr : cast<ArrayAttr>(most->first);
}

ParallelSpec plan::describeParallelism(nn::StepOp step, const ParallelSpec &asked, int64_t ranks) {
  if (!asked.isSearched)
    return asked;
  auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(
      step, step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
  Usage usage;
  for (unsigned index = 0; index < step.getNumArguments(); ++index) {
    auto layout = step.getArgAttrOfType<LayoutAttr>(index, dist::kLayoutAttr);
    if (!layout)
      continue; // whole on every rank: a plan that was edited need not say so
    StringRef role = nameOfArgument(step, index).role;
    if (role == "input" && layout.getRank() > 0) {
      usage.addBatch(layout.getAxes(0), mesh);
    } else if (role == "parameter") {
      addAxes(layout, usage.parameters);
    } else if (role == "optimizer_state") {
      addAxes(layout, usage.states);
    }
  }
  if (usage.batchParts == 1)
    if (ArrayAttr axes = axesOfMostOps(step))
      usage.addBatch(axes, mesh);
  auto overBatch = [&](const llvm::StringSet<> &axes) {
    return llvm::any_of(axes.keys(), [&](StringRef axis) { return usage.batch.contains(axis); });
  };
  ParallelSpec found;
  found.isSearched = true;
  found.data = usage.batchParts;
  found.tensor = ranks / usage.batchParts;
  found.zero = overBatch(usage.parameters) ? 3 : overBatch(usage.states) ? 2 : 0;
  return found;
}

/// Ops of which the loss is made; of a step without a loss, all.
static DenseSet<Operation *> findForward(nn::StepOp step) {
  DenseSet<Operation *> forward;
  bool hasLoss = false;
  for (OpOperand &operand : step.getBody().front().getTerminator()->getOpOperands()) {
    auto role = step.getResultAttrOfType<StringAttr>(operand.getOperandNumber(), "nn.role");
    if (!role || role.getValue() != "loss")
      continue;
    hasLoss = true;
    if (Operation *made = operand.get().getDefiningOp())
      forward.insert(made);
  }
  for (Operation &op : llvm::reverse(step.getBody().front())) {
    if (!hasLoss)
      forward.insert(&op);
    if (forward.contains(&op))
      for (Value operand : op.getOperands())
        if (Operation *made = operand.getDefiningOp())
          forward.insert(made);
  }
  return forward;
}

std::vector<Decision> plan::explainDecisions(nn::StepOp step, const SearchSpace &space,
                                             const Solution &solution) {
  std::vector<Decision> decisions;
  std::vector<uint32_t> nodes;
  auto mesh = space.getMesh();
  std::vector<std::function<std::string(uint32_t)>> describe;
  auto add = [&](std::string what, uint32_t node, std::function<std::string(uint32_t)> text) {
    if (space.getProblem().numChoices(node) < 2)
      return;
    decisions.push_back({std::move(what), text(solution.choices[node]), "", 0});
    nodes.push_back(node);
    describe.push_back(std::move(text));
  };
  for (BlockArgument argument : step.getBody().getArguments()) {
    StepValueName name = nameOfArgument(step, argument.getArgNumber());
    if (name.role != "parameter" && name.role != "input")
      continue;
    size_t index = space.getClasses().classOf(argument);
    add("layout of " + name.role.str() + " " + name.name.str(), space.nodeOfClass(index),
        [&space, index](uint32_t choice) { return describeLayout(space.domainOfClass(index)[choice]); });
  }
  DenseSet<Operation *> forward = findForward(step);
  for (Operation &op : step.getBody().front())
    if (space.hasSplit(&op) && isa<nn::LibraryOpInterface>(op)) {
      StringRef label = nn::getLabel(op.getLoc());
      add("split of " + (label.empty() ? "" : label.str() + " ") + op.getName().stripDialect().str() +
              (forward.contains(&op) ? "" : " (backward)"),
          space.nodeOfOp(&op), [&space, &op, mesh](uint32_t choice) {
            return describeSplit(&op, space.splitsOf(&op)[choice], mesh);
          });
    }
  std::vector<std::optional<RunnerUp>> runnerUps = findRunnerUps(space.getProblem(), solution, nodes);
  for (auto [decision, runnerUp, text] : llvm::zip(decisions, runnerUps, describe))
    if (runnerUp) {
      decision.runnerUp = text(runnerUp->choice);
      decision.costDifferenceSeconds = runnerUp->extraSeconds;
    }
  return decisions;
}
