//===- Evaluator.h - the meaning of nn ops, one element at a time -*- C++ -*-===//
//
// What tests of gradients and decompositions compare with: every op of the nn dialect as plain loops in
// double precision. Elementwise ops are evaluated through the scalar code that generated kernels are made of.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_TESTS_DIALECTS_NN_OPS_EVALUATOR_H
#define PDC_TESTS_DIALECTS_NN_OPS_EVALUATOR_H

#include "dialects/nn/IR/NN.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <map>
#include <vector>

namespace pdc::nn::testing {

/// A dense tensor in row-major order; integers and booleans are doubles too.
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<double> data;

  Tensor() = default;
  explicit Tensor(llvm::ArrayRef<int64_t> shape, double value = 0);
  /// The offset of an element.
  size_t at(llvm::ArrayRef<int64_t> index) const;
  double &operator[](llvm::ArrayRef<int64_t> index) { return data[at(index)]; }
  double operator[](llvm::ArrayRef<int64_t> index) const { return data[at(index)]; }
};

/// Calls `visit` with every index of `shape`, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// Replaces every op below `root` that has a decomposition, until none is left.
mlir::LogicalResult decomposeAll(mlir::Operation *root);

/// The values of a function's ops for given arguments. Fails, with an error at the op, where an op has no
/// meaning here.
class Evaluator {
public:
  mlir::LogicalResult run(mlir::func::FuncOp function, llvm::ArrayRef<Tensor> arguments);
  /// One op; `set` gives its operands their values.
  mlir::LogicalResult evaluate(mlir::Operation *op);
  void set(mlir::Value value, Tensor tensor) { values[value.getAsOpaquePointer()] = std::move(tensor); }
  const Tensor &value(mlir::Value value) const { return values.at(value.getAsOpaquePointer()); }
  /// What `nn.assign` gave to a state.
  std::map<const void *, Tensor> assigned;

private:
  mlir::LogicalResult evaluateElementwise(ElementwiseOpInterface op);
  bool evaluateShape(mlir::Operation *op);
  bool evaluateMatmul(mlir::Operation *op);
  bool evaluateWindows(mlir::Operation *op);
  bool evaluateParts(mlir::Operation *op);
  bool evaluateEmbedding(mlir::Operation *op);
  bool evaluateRouting(mlir::Operation *op);
  const Tensor &operand(mlir::Operation *op, unsigned i) const { return value(op->getOperand(i)); }
  /// Zeros of the op's first result's shape, which become its value.
  Tensor &result(mlir::Operation *op);

  std::map<const void *, Tensor> values;
};

} // namespace pdc::nn::testing

#endif // PDC_TESTS_DIALECTS_NN_OPS_EVALUATOR_H
