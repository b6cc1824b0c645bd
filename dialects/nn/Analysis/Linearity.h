//===- Linearity.h - which ops may work on partial sums ---------*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_ANALYSIS_LINEARITY_H
#define PDC_DIALECTS_NN_ANALYSIS_LINEARITY_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pdc::nn {

/// Has ops of the dialect get their LinearOpInterface when it is loaded. Without it, none is known to be linear.
void registerLinearity(mlir::DialectRegistry &registry);

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_ANALYSIS_LINEARITY_H
