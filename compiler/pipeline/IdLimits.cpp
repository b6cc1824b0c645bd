//===- IdLimits.cpp - which integers the inputs of a model can be ---------===//

#include "compiler/pipeline/IdLimits.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include <algorithm>

using namespace mlir;
using namespace pdc;
using namespace pdc::pipeline;

/// What one use of ids can take; none if it does not care.
static std::optional<IdRange> rangeOfUse(OpOperand &use) {
  auto last = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape().back(); };
  Operation *user = use.getOwner();
  Value ids = use.get();
  if (auto loss = dyn_cast<nn::CrossEntropyOp>(user); loss && loss.getLabels() == ids)
    return IdRange{last(loss.getLogits()), static_cast<int64_t>(loss.getIgnoreIndex())};
  if (auto accuracy = dyn_cast<nn::AccuracyOp>(user); accuracy && accuracy.getLabels() == ids)
    return IdRange{last(accuracy.getLogits()), static_cast<int64_t>(accuracy.getIgnoreIndex())};
  if (auto embedding = dyn_cast<nn::EmbeddingOp>(user); embedding && embedding.getIds() == ids)
    return IdRange{cast<RankedTensorType>(embedding.getTable().getType()).getShape().front(), std::nullopt};
  return std::nullopt;
}

/// What all uses can take, also those of the same ids in another shape.
static void meetUses(Value ids, std::optional<IdRange> &range) {
  for (OpOperand &use : ids.getUses()) {
    if (auto reshape = dyn_cast<nn::ReshapeOp>(use.getOwner()))
      meetUses(reshape.getResult(), range);
    std::optional<IdRange> other = rangeOfUse(use);
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

std::map<std::string, IdRange> pdc::pipeline::collectIdRanges(ModuleOp module) {
  std::map<std::string, IdRange> ranges;
  for (auto model : module.getOps<nn::ModelOp>())
    for (unsigned i = 0; i < model.getNumArguments(); ++i) {
      auto name = model.getArgAttrOfType<StringAttr>(i, "nn.name");
      Value argument = model.getArgument(i);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (!name || !type || !type.getElementType().isInteger())
        continue;
      std::optional<IdRange> range;
      meetUses(argument, range);
      if (range)
        ranges[name.str()] = *range;
    }
  return ranges;
}

void pdc::pipeline::setIdRanges(program::ExecutableT &executable,
                                const std::map<std::string, IdRange> &ranges) {
  for (const auto &program : executable.programs)
    for (const auto &buffer : program->buffers) {
      auto range = ranges.find(buffer->name);
      if (buffer->kind != program::BufferKind::kInput || range == ranges.end())
        continue;
      buffer->id_limit = range->second.limit;
      buffer->ignorable = range->second.ignored.has_value();
      if (buffer->ignorable)
        buffer->ignored_id = *range->second.ignored;
    }
}
