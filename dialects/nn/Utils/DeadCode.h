//===- DeadCode.h - removal of what nothing depends on ----------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_UTILS_DEADCODE_H
#define PDC_DIALECTS_NN_UTILS_DEADCODE_H

#include "mlir/IR/Block.h"

namespace pdc::nn {

/// Erases the ops of a block whose results nothing uses: pure ops, and declarations of parameters and states.
void eraseDeadOps(mlir::Block &block);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_UTILS_DEADCODE_H
