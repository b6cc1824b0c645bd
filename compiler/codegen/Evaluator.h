//===- Evaluator.h - values at a point of the loops ------------*- C++ -*-===//
#ifndef PDC_COMPILER_CODEGEN_EVALUATOR_H
#define PDC_COMPILER_CODEGEN_EVALUATOR_H

#include "compiler/codegen/Schedule.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace pdc::codegen {

/// Computes values of the fused body at the current point of the loops, each once per point.
class Evaluator {
public:
  Evaluator(mlir::OpBuilder &builder, mlir::Location loc, const Schedule &schedule,
            mlir::SmallVector<mlir::Value> pointers);

  /// Memory of the kernel itself: one value per element of the vector axis, from element `start` (null: 0)
  /// on.
  struct Buffer {
    mlir::Value pointer, start;
    mlir::Type type;
    bool ready = false; // holds the value; before, the value is computed
  };

  mlir::Value integer(int64_t value);
  mlir::Value zeroIndex() { return integer(0); }

  /// Begins a unit: forgets everything.
  void beginUnit();
  /// Begins the body of the innermost loop: forgets what was computed at other points of it.
  void beginPoint() { pointValues.clear(); }

  /// `value` in its compute type. What does not run over the loops inside the unit is computed before `nest`.
  mlir::Value evaluate(mlir::Value value);
  /// Makes `value`, which the unit computes once, known.
  void setUnitValue(mlir::Value value, mlir::Value scalar) { unitValues[value] = scalar; }

  /// Stores into the memory of a result; where several units or points compute the element, one of them
  /// stores.
  void store(unsigned result, mlir::Value scalar);

  mlir::Value loadBuffer(const Buffer &buffer);
  void storeBuffer(const Buffer &buffer, mlir::Value scalar);

  /// Computed once per unit, before its loops.
  bool isUnitValue(mlir::Value value) const;

  /// The current element per axis; null where no loop is open.
  mlir::SmallVector<mlir::Value> iv;
  /// Columns: the first element of the unit's block.
  mlir::Value blockStart;
  /// The outermost loop that is open inside the unit, or null.
  mlir::Operation *nest = nullptr;
  llvm::DenseMap<mlir::Value, Buffer> buffers;

private:
  mlir::Value compute(mlir::Value value);
  mlir::Value load(const Access &access);
  mlir::Value constant(nn::ConstantOp op);
  mlir::Value address(const Access &access);
  mlir::Value bufferAddress(const Buffer &buffer);
  mlir::Value toCompute(mlir::Value stored, mlir::Type elementType);
  mlir::Value toStorage(mlir::Value scalar, mlir::Type elementType);
  mlir::Value elementIndex(mlir::Value value, int64_t dimension);
  /// Whether this point stores an element of a value over `axes`; null: it does.
  mlir::Value storesHere(AxisSet axes);

  mlir::OpBuilder &b;
  mlir::Location loc;
  const Schedule &schedule;
  mlir::SmallVector<mlir::Value> pointers; // per argument
  llvm::DenseMap<mlir::Value, mlir::Value> unitValues, pointValues;
};

} // namespace pdc::codegen

#endif // PDC_COMPILER_CODEGEN_EVALUATOR_H
