//===- NNInterfaces.h - what an op knows about itself -----------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_H
#define PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_H

#include "dialects/nn/Interfaces/OpCost.h"
#include "dialects/nn/Interfaces/ShardingRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace pdc::nn {
/// No floating-point work to speak of: reads every operand and writes every result once.
OpCost streamingCost(mlir::Operation *op);
} // namespace pdc::nn

#include "dialects/nn/Interfaces/NNInterfaces.h.inc"

#endif // PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_H
