//===- Initializers.h - initializers without fans ---------------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_UTILS_INITIALIZERS_H
#define PDC_DIALECTS_NN_UTILS_INITIALIZERS_H

#include "dialects/nn/IR/NN.h"

namespace pdc::nn {

/// The initializer that spells a distribution: `zeros`, `ones`, `constant(value)`, `normal(mean, std)`,
/// `uniform(low, high)` or `truncated_normal(mean, std)`.
InitializerAttr getInitializer(mlir::MLIRContext *context, const Distribution &distribution);

/// The same initial values for a variable of this shape in the model, in one of the forms of `getInitializer`: what is left
/// to know is only the distribution. `init` is a verified initializer of an nn.param or nn.state.
InitializerAttr resolveInitializer(InitializerAttr init, llvm::ArrayRef<int64_t> shape);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_UTILS_INITIALIZERS_H
