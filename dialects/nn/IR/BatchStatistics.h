//===- BatchStatistics.h - sums that may be those of a part of the batch -*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_IR_BATCHSTATISTICS_H
#define PDC_DIALECTS_NN_IR_BATCHSTATISTICS_H

#include "llvm/ADT/StringRef.h"

namespace pdc::nn {

/// On the sums over the batch that batch_norm decomposes into. Where a step runs in micro-batches, they are those of each
/// micro-batch, as in GPipe (Huang et al. 2019, section 2.2), since the whole batch is not there when they are needed.
inline constexpr llvm::StringLiteral kBatchStatisticsAttr = "nn.batch_statistics";

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_BATCHSTATISTICS_H
