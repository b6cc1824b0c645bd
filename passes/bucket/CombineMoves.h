//===- CombineMoves.h - small gathers and scatters share messages -*- C++ -*-===//
#ifndef PDC_PASSES_BUCKET_COMBINEMOVES_H
#define PDC_PASSES_BUCKET_COMBINEMOVES_H

#include "mlir/IR/Block.h"

namespace pdc::passes {

/// all_gathers over the same axes whose whole values have at most `smallBytes` become one where the last of them stood,
/// if nothing before needs a result; so do reduce_scatters. What one message costs then stands against a copy of few
/// bytes: parts of several values are joined before, and taken apart behind. Larger ones stay: there the copy counts.
/// Of one message are at most `limitBytes`.
///
/// All members of a group see the same values in the same order, so they combine the same ones.
void combineMoves(mlir::Block &block, int64_t smallBytes, int64_t limitBytes);

} // namespace pdc::passes

#endif // PDC_PASSES_BUCKET_COMBINEMOVES_H
