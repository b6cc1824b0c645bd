//===- SimplifyCollectives.h - fewer and shared collectives -----*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H
#define PDC_PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H

#include "mlir/IR/Block.h"

namespace pdc::passes {

/// Adds before reducing where the sum of two all-reduced values is all that is used of them (the gradient of
/// a parameter that is used twice), shares collectives that are equal, and drops unused ones.
void simplifyCollectives(mlir::Block &block);

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H
