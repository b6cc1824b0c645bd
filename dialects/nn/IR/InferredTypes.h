//===- InferredTypes.h - result types that follow from operands -*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_IR_INFERREDTYPES_H
#define PDC_DIALECTS_NN_IR_INFERREDTYPES_H

#include "mlir/IR/OpDefinition.h"

namespace pdc::nn {

/// Fails with the first result whose type is not the inferred one.
mlir::LogicalResult verifyInferredTypes(mlir::Operation *op, mlir::TypeRange inferred);

/// Verifies that an op has the types that it infers. MLIR's own verification adds "failed to infer returned
/// types" to the error of the inference; a mistake in a model gets one error, which says what is wrong.
template <typename ConcreteOp>
class InferredTypes : public mlir::OpTrait::TraitBase<ConcreteOp, InferredTypes> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    llvm::SmallVector<mlir::Type> types;
    if (failed(ConcreteOp::inferReturnTypes(op->getContext(), op->getLoc(), op->getOperands(),
                                            op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
                                            op->getRegions(), types)))
      return mlir::failure();
    return verifyInferredTypes(op, types);
  }
};

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_INFERREDTYPES_H
