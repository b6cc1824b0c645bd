//===- Distribution.h - what an initializer means for a shape ---*- C++ -*-===//
#ifndef PDC_DIALECTS_NN_IR_DISTRIBUTION_H
#define PDC_DIALECTS_NN_IR_DISTRIBUTION_H

namespace pdc::nn {

/// Where initial values come from, fans resolved.
struct Distribution {
  enum class Kind { Zeros, Ones, Constant, Normal, Uniform, TruncatedNormal };
  Kind kind = Kind::Zeros;
  double a = 0; // Constant: value; Normal, TruncatedNormal: mean; Uniform: low
  double b = 0; // Normal, TruncatedNormal: standard deviation; Uniform: high
};

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_DISTRIBUTION_H
