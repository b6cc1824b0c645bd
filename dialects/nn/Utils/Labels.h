//===- Labels.h - the names by which a person knows ops ---------*- C++ -*-===//
//
// An op's label says which part of the model it belongs to, such as "h0.attn.qkv". It is kept as the op's
// NameLoc, so that it survives every rewrite that keeps locations, and gradient ops have that of the op they
// come from.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_UTILS_LABELS_H
#define PDC_DIALECTS_NN_UTILS_LABELS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace pdc::nn {

/// The label at a location; empty if it has none.
llvm::StringRef getLabel(mlir::Location loc);

/// `loc` under a label; `loc` itself if the label is empty.
mlir::Location withLabel(llvm::StringRef label, mlir::Location loc);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_UTILS_LABELS_H
