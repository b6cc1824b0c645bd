//===- TestProgram.h - one op between arguments and results -----*- C++ -*-===//
#ifndef PDC_TESTS_DIALECTS_NN_OPS_TESTPROGRAM_H
#define PDC_TESTS_DIALECTS_NN_OPS_TESTPROGRAM_H

#include "mlir/IR/OwningOpRef.h"
#include "tests/dialects/nn/ops/Evaluator.h"
#include "gtest/gtest.h"

namespace pdc::nn::testing {

/// Values between -1 and 1 that look random and are the same everywhere; integers from 0 to `classes` - 1.
Tensor sample(mlir::RankedTensorType type, unsigned seed, int64_t classes = 4);

/// A function of the arguments %a, %b, %c, ... of the given types, whose body is `body`. Gradient checks are
/// of its last op.
class TestProgram {
public:
  TestProgram(llvm::ArrayRef<const char *> types, llvm::StringRef body);

  explicit operator bool() const { return static_cast<bool>(module); }
  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }
  /// The last op before the return.
  mlir::Operation *last();
  /// Samples of the arguments' types.
  std::vector<Tensor> samples();

  /// The value of the last op's first result, after decomposing everything.
  Tensor evaluate(llvm::ArrayRef<Tensor> arguments);
  Evaluator evaluator;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Compares the gradients that the last op of a program builds with central differences in f64.
void expectGradientsMatchDifferences(llvm::ArrayRef<const char *> types, llvm::StringRef body);

/// Element by element, to a tolerance.
void expectNear(const Tensor &found, const Tensor &expected, double tolerance = 1e-9);

} // namespace pdc::nn::testing

#endif // PDC_TESTS_DIALECTS_NN_OPS_TESTPROGRAM_H
