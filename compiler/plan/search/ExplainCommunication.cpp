//===- ExplainCommunication.cpp - why a plan communicates -----------------===//

#include "compiler/plan/search/ExplainCommunication.h"
#include "dialects/nn/Utils/Labels.h"
#include "passes/layouts/SplitByParts.h"
#include "passes/layouts/Windows.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;

std::string plan::describeLayout(LayoutAttr layout) {
  if (layout.isReplicated())
    return "whole";
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(llvm::seq<int64_t>(0, layout.getRank()), os, [&](int64_t dim) {
    if (!layout.isSplit(dim))
      os << "-";
    else
      llvm::interleave(layout.getAxes(dim).getAsValueRange<StringAttr>(), os, "*");
  });
  os << "]";
  if (layout.isPartial()) {
    os << " partial over ";
    llvm::interleave(layout.getSum().getAsValueRange<StringAttr>(), os, "*");
    llvm::interleave(layout.getMax().getAsValueRange<StringAttr>(), os, "*");
  }
  return text;
}

static std::string describeOp(Operation *op) {
  StringRef label = nn::getLabel(op->getLoc());
  return (label.empty() ? "" : label.str() + " ") + op->getName().stripDialect().str();
}

/// What made a value, reshards left aside.
static std::string describeSource(Value value) {
  while (auto reshard = value.getDefiningOp<dist::ReshardOp>())
    value = reshard.getInput();
  if (Operation *op = value.getDefiningOp())
    return describeOp(op);
  auto argument = cast<BlockArgument>(value);
  auto step = cast<nn::StepOp>(argument.getOwner()->getParentOp());
  auto text = [&](StringRef key) {
    auto attribute = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), key);
    return attribute ? attribute.getValue().str() : std::string();
  };
  return text("nn.role") + " " + text("nn.name");
}

/// Who wanted the reshard: the first op that uses it, reshards left aside.
static std::string describeUser(dist::ReshardOp reshard) {
  Operation *user = reshard;
  while (isa<dist::ReshardOp>(user) && !user->use_empty()) {
    // In the order of the step, not of the list of uses.
    user = *llvm::min_element(user->getUsers(),
                              [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  }
  return user->hasTrait<OpTrait::IsTerminator>() ? "the end of the step" : describeOp(user);
}

namespace {

class Explanation {
public:
  Explanation(nn::StepOp step, MeshCosts &costs) : step(step), costs(costs) {}

  std::vector<CommunicationRow> run() {
    for (Operation &op : step.getBody().front()) {
      if (auto reshard = dyn_cast<dist::ReshardOp>(op))
        explain(reshard);
      else if (auto shardable = dyn_cast<nn::ShardableOpInterface>(op))
        explain(shardable);
    }
    return std::move(rows);
  }

private:
  void add(StringRef kind, const MeshCosts::Message &message, std::string cause, std::string why) {
    CommunicationRow row{kind.str(),    {}, message.bytes, costs.messageSeconds(message), std::move(cause),
                         std::move(why)};
    for (StringRef axis : message.axes.getAsValueRange<StringAttr>())
      row.axes.push_back(axis.str());
    rows.push_back(std::move(row));
  }

  void explain(dist::ReshardOp reshard) {
    LayoutAttr from = dist::getLayout(reshard.getInput()), to = dist::getLayout(reshard.getResult());
    auto type = cast<RankedTensorType>(reshard.getType());
    auto steps = passes::planReshard(from, to, type.getShape(), costs.getMesh());
    if (failed(steps))
      return; // partition tells
    std::string why = (isa<BlockArgument>(reshard.getInput()) ? "lies " : "gives ") + describeLayout(from) +
                      "; " + describeUser(reshard) + " wants " + describeLayout(to);
    LayoutAttr layout = from;
    for (const passes::ReshardStep &on : *steps) {
      if (auto message = costs.messageOf(type, layout, on))
        add(cost::toString(message->collective), *message, describeSource(reshard.getInput()), why);
      layout = on.result;
    }
  }

  void explain(nn::ShardableOpInterface op) {
    passes::OpLayouts layouts;
    for (Value operand : op->getOperands())
      layouts.operands.push_back(dist::getLayout(operand));
    layouts.results.resize(op->getNumResults());
    if (passes::needsParts(op, layouts)) {
      ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
      if (auto parts = passes::describeSplitByParts(op, layouts, costs.getMesh()); succeeded(parts))
        for (const passes::PartsReduction &reduction : parts->reductions)
          add("all_reduce", {cost::Collective::AllReduce, reduction.bytes, reduction.axes}, describeOp(op),
              "is split by its parts, which reduce a " +
                  std::string(reduction.reduction == dist::Reduction::Max ? "maximum" : "sum"));
      return;
    }
    explainWindows(op, layouts);
  }

  void explainWindows(nn::ShardableOpInterface op, passes::OpLayouts &layouts) {
    nn::ShardingRule rule = op.getShardingRule();
    if (llvm::none_of(rule.factors,
                      [](const nn::Factor &factor) { return factor.kind == nn::FactorKind::Halo; }))
      return;
    ScopedDiagnosticHandler quiet(op->getContext(), [](Diagnostic &) { return success(); });
    auto splits = passes::splitsOfFactors(op, layouts);
    if (failed(splits))
      return;
    for (auto [index, factor, split] : llvm::enumerate(rule.factors, *splits)) {
      if (!split || factor.kind != nn::FactorKind::Halo)
        continue;
      int64_t bytes = passes::bytesOfHalo(op, index, layouts, costs.getMesh());
      if (bytes > 0)
        add("halo_exchange", {cost::Collective::PointToPoint, bytes, split.axes}, describeOp(op),
            "has windows that reach into neighbours' parts along " + factor.name);
    }
  }

  nn::StepOp step;
  MeshCosts &costs;
  std::vector<CommunicationRow> rows;
};

} // namespace

std::vector<CommunicationRow> plan::explainCommunication(nn::StepOp step, MeshCosts &costs) {
  return Explanation(step, costs).run();
}
