//===- MessageCosts.h - what messages between stages cost -------*- C++ -*-===//
#ifndef PDC_PASSES_PIPELINE_MESSAGECOSTS_H
#define PDC_PASSES_PIPELINE_MESSAGECOSTS_H

#include "passes/layouts/Transfer.h"

namespace pdc::passes {

/// Seconds, to choose by. Here without a machine: ranks that are all connected alike.
class MessageCosts {
public:
  virtual ~MessageCosts() = default;
  virtual double reshardSeconds(mlir::RankedTensorType type, dist::LayoutAttr from, dist::LayoutAttr to,
                                dist::MeshOp mesh) const;
  /// How many times as long as on rank 0 work takes on the slowest of `count` ranks from `first` on. Here all are alike.
  virtual double slowness(int64_t first, int64_t count) const;
  /// Until all pieces, which set out together, have arrived.
  virtual double transferSeconds(llvm::ArrayRef<TransferPiece> pieces, int64_t elementBytes) const;
};

} // namespace pdc::passes

#endif // PDC_PASSES_PIPELINE_MESSAGECOSTS_H
