//===- PartitionPass.h - from global to local shapes ------------*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_PARTITIONPASS_H
#define PDC_PASSES_PARTITION_PARTITIONPASS_H

#include "mlir/Pass/Pass.h"

namespace pdc::passes {

#define GEN_PASS_DECL
#include "passes/partition/PartitionPass.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/partition/PartitionPass.h.inc"

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_PARTITIONPASS_H
