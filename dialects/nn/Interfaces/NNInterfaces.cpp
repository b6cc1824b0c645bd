//===- NNInterfaces.cpp - what an op knows about itself -------------------===//

#include "dialects/nn/Interfaces/NNInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"

#include "dialects/nn/Interfaces/NNInterfaces.cpp.inc"

static double bytesOf(mlir::TypeRange types) {
  double bytes = 0;
  for (mlir::Type type : types)
    if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type); tensor && tensor.hasStaticShape())
      bytes += static_cast<double>(tensor.getNumElements()) * ((tensor.getElementTypeBitWidth() + 7) / 8);
  return bytes;
}

pdc::nn::OpCost pdc::nn::streamingCost(mlir::Operation *op) {
  OpCost cost;
  cost.bytesRead = bytesOf(op->getOperandTypes());
  cost.bytesWritten = bytesOf(op->getResultTypes());
  return cost;
}

llvm::SmallVector<mlir::Value> pdc::nn::cloneLocal(mlir::Operation *op, mlir::OpBuilder &builder,
                                                   const LocalPart &part) {
  mlir::OperationState state(op->getLoc(), op->getName());
  state.addOperands(part.operands);
  state.addTypes(part.resultTypes);
  state.addAttributes(op->getAttrs());
  return llvm::SmallVector<mlir::Value>(builder.create(state)->getResults());
}
