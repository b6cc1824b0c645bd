//===- SimplifyCollectives.h - fewer and shared collectives -----*- C++ -*-===//
#ifndef PDC_PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H
#define PDC_PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H

#include "mlir/IR/Block.h"

namespace pdc::passes {

/// Fewer collectives: a slice of what was gathered, or the reverse, is what was there before; equal ones are shared
/// (unless their reshards were kept apart, see dist.reshard); an all_reduce that is only sliced is a reduce_scatter;
/// where the sum of two reduced values is all that is used of them (the gradient of a parameter that is used twice),
/// it is added before it is reduced. Unused ones are dropped.
void simplifyCollectives(mlir::Block &block);

} // namespace pdc::passes

#endif // PDC_PASSES_PARTITION_SIMPLIFYCOLLECTIVES_H
