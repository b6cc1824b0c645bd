//===- Expander.h - a model's body with blocks expanded ---------*- C++ -*-===//
#ifndef PDC_PASSES_SPECIALIZE_EXPANDER_H
#define PDC_PASSES_SPECIALIZE_EXPANDER_H

#include "dialects/nn/IR/NN.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

namespace pdc::passes {

/// Clones the ops of a model to another place, with static types and with blocks expanded.
class Expander {
public:
  /// `batch`: what a `?` that is not determined by an op's operands becomes; kDynamic where the model has
  /// none.
  Expander(mlir::ModuleOp module, mlir::OpBuilder &builder, int64_t batch)
      : symbols(module), builder(builder), batch(batch) {}

  /// Clones every op of `body` but its terminator, names prefixed; `mapping` has `body`'s arguments on entry
  /// and all of its values on return. Errors are emitted.
  mlir::LogicalResult expand(mlir::Block &body, llvm::StringRef prefix, mlir::IRMapping &mapping);

private:
  mlir::Location locate(mlir::Operation &op);
  mlir::LogicalResult expandOp(mlir::Operation &op, llvm::StringRef prefix, mlir::IRMapping &mapping);
  mlir::LogicalResult expandVariable(mlir::Operation &op, llvm::StringRef prefix, mlir::IRMapping &mapping);
  mlir::LogicalResult expandRepeat(pdc::nn::RepeatOp op, llvm::StringRef prefix, mlir::IRMapping &mapping);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> applyBlock(mlir::Operation *user,
                                                             mlir::FlatSymbolRefAttr callee,
                                                             llvm::StringRef prefix,
                                                             mlir::ValueRange operands);
  mlir::LogicalResult specializeTypes(mlir::Operation *op);
  mlir::FailureOr<mlir::Type> bindBatch(mlir::Operation *op, mlir::RankedTensorType type);

  mlir::SymbolTable symbols;
  mlir::OpBuilder &builder;
  int64_t batch;
  int64_t nextDropoutStream = 0;
  llvm::SmallVector<mlir::Location> callers; // uses of the blocks being expanded, outermost first
};

} // namespace pdc::passes

#endif // PDC_PASSES_SPECIALIZE_EXPANDER_H
