//===- harness.h - builds, compiles, loads and runs fusions -----*- C++ -*-===//
#ifndef PDC_TESTS_COMPILER_CODEGEN_HARNESS_H
#define PDC_TESTS_COMPILER_CODEGEN_HARNESS_H

#include "compiler/codegen/KernelLibrary.h"
#include "dialects/nn/IR/NN.h"
#include "mlir/IR/BuiltinOps.h"
#include "tests/compiler/codegen/reference.h"
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace pdc::codegen::test {

using Kernel = void (*)(void *const *arguments, int64_t begin, int64_t end);

/// A shared object loaded from memory.
class Library {
public:
  explicit Library(const std::string &image);
  ~Library();
  Library(const Library &) = delete;
  void *find(const std::string &symbol) const;

private:
  void *handle = nullptr;
};

/// Builds the body of one fusion.
class FusionWriter {
public:
  FusionWriter();
  ~FusionWriter();

  mlir::RankedTensorType type(mlir::ArrayRef<int64_t> shape, mlir::Type element = {});
  mlir::Value operand(mlir::ArrayRef<int64_t> shape, mlir::Type element = {});
  mlir::Value splat(double value, mlir::ArrayRef<int64_t> shape = {}, mlir::Type element = {});
  /// Elementwise, with the operands' broadcast shape.
  template <typename OpT> mlir::Value op(mlir::ArrayRef<mlir::Value> operands, mlir::Type element = {}) {
    mlir::OperationState state(loc, OpT::getOperationName());
    state.addOperands(operands);
    state.addTypes(broadcast(operands, element));
    return builder.create(state)->getResult(0);
  }
  mlir::Value sum(mlir::Value input, mlir::ArrayRef<int64_t> axes, bool keepDims = true);
  mlir::Value max(mlir::Value input, mlir::ArrayRef<int64_t> axes, bool keepDims = true);
  mlir::Value broadcastTo(mlir::Value input, mlir::ArrayRef<int64_t> shape);
  mlir::Value reshape(mlir::Value input, mlir::ArrayRef<int64_t> shape);
  mlir::Value iota(int64_t dimension, mlir::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Value compare(nn::ComparePredicate predicate, mlir::Value lhs, mlir::Value rhs);
  nn::FusionOp finish(mlir::ArrayRef<mlir::Value> results,
                      mlir::ArrayRef<std::pair<int64_t, int64_t>> donations = {});

  mlir::MLIRContext context;
  mlir::OpBuilder builder;
  mlir::Location loc;

private:
  mlir::RankedTensorType broadcast(mlir::ArrayRef<mlir::Value> operands, mlir::Type element);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block holder; // its arguments are the fusion's operands
  nn::FusionOp fusion;
};

struct RunOptions {
  CodegenOptions codegen{"host", "", 3};
  double tolerance = 2e-6; // relative to the larger of the magnitude and `scale`
  double scale = 1;
  /// Elements between neighbouring elements of the innermost dimension of each operand.
  int64_t operandStride = 1;
  /// How an operand's element is chosen; a normal distribution otherwise.
  std::function<double(unsigned operand, int64_t element, std::mt19937 &random)> value;
};

/// Compiles `fusion`, runs it whole and split unevenly (with equal bits), and compares with the reference.
/// Returns what differs, or nothing.
std::string check(nn::FusionOp fusion, const RunOptions &options = {});

} // namespace pdc::codegen::test

#endif // PDC_TESTS_COMPILER_CODEGEN_HARNESS_H
