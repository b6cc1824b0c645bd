//===- reference.h - fusions evaluated one scalar at a time -----*- C++ -*-===//
//
// An oracle that shares no code with code generation: it interprets the arith and math ops that the body's
// ops say they are made of, in f64, one element at a time.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_TESTS_COMPILER_CODEGEN_REFERENCE_H
#define PDC_TESTS_COMPILER_CODEGEN_REFERENCE_H

#include "dialects/nn/IR/NN.h"
#include <vector>

namespace pdc::codegen::test {

struct Scalar {
  double number = 0;   // floating point
  int64_t integer = 0; // integers, i1, index
};

/// Row-major elements.
using Tensor = std::vector<Scalar>;

/// The results of `fusion` for these operands.
std::vector<Tensor> evaluate(nn::FusionOp fusion, const std::vector<Tensor> &operands);

} // namespace pdc::codegen::test

#endif // PDC_TESTS_COMPILER_CODEGEN_REFERENCE_H
