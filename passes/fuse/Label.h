//===- Label.h - what a person calls a kernel -------------------*- C++ -*-===//
#ifndef PDC_PASSES_FUSE_LABEL_H
#define PDC_PASSES_FUSE_LABEL_H

#include "mlir/Support/LLVM.h"
#include <string>

namespace mlir {
class Operation;
}

namespace pdc::passes {

/// Before composite ops are taken apart: writes the name of each into its location, "h3.ln1 layer_norm", from
/// where its parts inherit it.
void nameCompositeOps(mlir::Operation *root);

/// The name of a kernel of these ops: where they come from and what they are, at most 60 characters:
/// "h3.ln1 layer_norm", "fc1 add relu".
std::string makeLabel(mlir::ArrayRef<mlir::Operation *> ops);

} // namespace pdc::passes

#endif // PDC_PASSES_FUSE_LABEL_H
