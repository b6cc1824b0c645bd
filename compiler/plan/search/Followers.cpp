//===- Followers.cpp - steps that are planned as another one --------------===//

#include "compiler/plan/search/Followers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;

static uint64_t word(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

/// Arguments are the same where their names and types are. The text of a name is uniqued, and stands for it.
DecidedStep::Numbers DecidedStep::numberArguments(nn::StepOp step) const {
  Numbers values;
  for (BlockArgument argument : step.getBody().getArguments()) {
    StepValueName name = nameOfArgument(step, argument.getArgNumber());
    values[argument] = numberOf({0, word(name.role.data()), word(name.slot.data()), word(name.name.data()),
                                 word(argument.getType().getAsOpaquePointer())});
  }
  return values;
}

DecidedStep::Number DecidedStep::numberOp(Operation *op, Numbers &values) const {
  std::vector<uint64_t> key = {1, word(op->getName().getAsOpaquePointer()),
                               word(op->getAttrDictionary().getAsOpaquePointer())};
  for (Type type : op->getResultTypes())
    key.push_back(word(type.getAsOpaquePointer()));
  for (Value operand : op->getOperands())
    key.push_back(values.lookup(operand));
  Number number = numberOf(std::move(key));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    values[result] = numberOf({2, number, index});
  return number;
}

DecidedStep::DecidedStep(nn::StepOp step, const SearchSpace &space, ArrayRef<uint32_t> choices) {
  Numbers values = numberArguments(step);
  // In the order of the step: of values that are computed twice the first counts.
  auto takeLayout = [&](Value value) {
    layouts.try_emplace(values.lookup(value), space.layoutOf(value, choices));
  };
  llvm::for_each(step.getBody().getArguments(), takeLayout);
  for (Operation &op : step.getBody().front()) {
    if (!space.hasSplit(&op))
      continue;
    splits.try_emplace(numberOp(&op, values), space.splitOf(&op, choices).layouts);
    llvm::for_each(op.getResults(), takeLayout);
  }
}

void DecidedStep::decide(nn::StepOp other, SearchSpace &space) const {
  std::vector<Node> &nodes = space.getProblem().nodes;
  Numbers values = numberArguments(other);
  for (Operation &op : other.getBody().front()) {
    if (!space.hasSplit(&op))
      continue;
    // Not all that is offered to one step is to the other: sums that wait to be added up, what fits micro-batches.
    auto decided = splits.find(numberOp(&op, values));
    if (decided == splits.end())
      continue;
    ArrayRef<passes::OpSplit> offered = space.splitsOf(&op);
    auto same = llvm::find_if(offered, [&](const passes::OpSplit &split) {
      return split.layouts.operands == decided->second.operands && split.layouts.results == decided->second.results;
    });
    if (same != offered.end())
      nodes[space.nodeOfOp(&op)].fixedChoice = same - offered.begin();
  }
  for (size_t index = 0; index < space.getClasses().size(); ++index) {
    ArrayRef<dist::LayoutAttr> domain = space.domainOfClass(index);
    for (Value value : space.getClasses().members(index)) {
      auto layout = layouts.find(values.lookup(value));
      if (layout == layouts.end() || !llvm::is_contained(domain, layout->second))
        continue;
      nodes[space.nodeOfClass(index)].fixedChoice = llvm::find(domain, layout->second) - domain.begin();
      break;
    }
  }
}
