//===- SplitOpsByParts.cpp - ops whose split goes through their parts -----===//

#include "passes/partition/SplitOpsByParts.h"
#include "passes/layouts/SplitByParts.h"
#include "passes/partition/StepPartition.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

static LogicalResult splitOp(nn::ShardableOpInterface op, const OpLayouts &operands, dist::MeshOp mesh) {
  FailureOr<SmallVector<LayoutAttr>> needed = partsOperandLayouts(op, operands);
  if (failed(needed))
    return failure();
  for (auto [index, have, need] : llvm::enumerate(operands.operands, *needed))
    if (!meanTheSame(have, need))
      return op.emitOpError() << "operand " << index << " has layout " << have
                              << ", but a split by its parts needs " << need << "; reshard it before";
  SmallVector<LayoutAttr> stated;
  for (Value result : op->getResults())
    stated.push_back(dist::getLayout(result));
  FailureOr<SplitParts> described = describeSplitByParts(op, operands, mesh);
  if (failed(described))
    return failure();
  for (auto [index, have, gives] : llvm::enumerate(stated, described->results))
    if (!meanTheSame(have, gives))
      return op.emitOpError() << "result " << index << " has layout " << have
                              << ", but a split by its parts gives " << gives;
  return splitByParts(op, operands, mesh);
}

LogicalResult passes::splitOpsByParts(nn::StepOp step, dist::MeshOp mesh) {
  for (Operation &op : llvm::make_early_inc_range(step.getBody().front())) {
    auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
    if (!shardable)
      continue;
    OpLayouts operands;
    for (Value operand : op.getOperands())
      operands.operands.push_back(dist::getLayout(operand));
    operands.results.resize(op.getNumResults());
    if (needsParts(shardable, operands) && failed(splitOp(shardable, operands, mesh)))
      return failure();
  }
  return success();
}
