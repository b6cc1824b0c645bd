//===- IdLimits.cpp - which integers the inputs of a model can be ---------===//

#include "compiler/pipeline/IdLimits.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include <algorithm>

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

/// What all uses can take, also of the same ids in another shape or type.
static void meetUses(Value ids, std::optional<nn::IdRange> &range) {
  for (OpOperand &use : ids.getUses()) {
    if (use.getOwner()->hasTrait<nn::ForwardsIds>())
      for (Value result : use.getOwner()->getResults())
        meetUses(result, range);
    auto user = dyn_cast<nn::IdOpInterface>(use.getOwner());
    std::optional<nn::IdRange> other = user ? user.getIdRange(use.getOperandNumber()) : std::nullopt;
    if (!other)
      continue;
    if (!range) {
      range = other;
      continue;
    }
    range->limit = std::min(range->limit, other->limit);
    if (range->ignored != other->ignored)
      range->ignored.reset();
  }
}

std::map<std::string, nn::IdRange> pdc::pipeline::collectIdRanges(ModuleOp module) {
  std::map<std::string, nn::IdRange> ranges;
  for (auto model : module.getOps<nn::ModelOp>())
    for (unsigned i = 0; i < model.getNumArguments(); ++i) {
      auto name = model.getArgAttrOfType<StringAttr>(i, "nn.name");
      Value argument = model.getArgument(i);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!name || !type || !type.getElementType().isInteger())
        continue;
      std::optional<nn::IdRange> range;
      meetUses(argument, range);
      if (range)
        ranges[name.str()] = *range;
    }
  return ranges;
}

/// Into an input of a program, or one of its buffers.
template <typename Described>
static void setIdRange(Described &described, const std::map<std::string, nn::IdRange> &ranges) {
  auto range = ranges.find(described.name);
  if (range == ranges.end())
    return;
  described.id_limit = range->second.limit;
  described.ignorable = range->second.ignored.has_value();
  if (described.ignorable)
    described.ignored_id = *range->second.ignored;
}

void pdc::pipeline::setIdRanges(program::ExecutableT &executable,
                                const std::map<std::string, nn::IdRange> &ranges) {
  for (const auto &program : executable.programs) {
    for (const auto &input : program->inputs)
      setIdRange(*input, ranges);
    for (const auto &buffer : program->buffers)
      if (buffer->kind == program::BufferKind::kInput)
        setIdRange(*buffer, ranges);
  }
}
