//===- ScalarWriter.h - formulas of one element -----------------*- C++ -*-===//
//
// Scalar computations in ops of arith and math, so that they read as formulas.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_IR_SCALARWRITER_H
#define PDC_DIALECTS_NN_IR_SCALARWRITER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace pdc::nn {

/// Numbers become constants of the other operand's type.
class ScalarWriter {
public:
  ScalarWriter(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  template <typename OpT, typename... Operands> mlir::Value make(Operands &&...operands) {
    return OpT::create(builder, loc, std::forward<Operands>(operands)...);
  }

  mlir::Value real(mlir::Type type, double value) {
    return make<mlir::arith::ConstantOp>(mlir::FloatAttr::get(type, value));
  }
  mlir::Value integer(mlir::Type type, int64_t value) {
    return make<mlir::arith::ConstantOp>(mlir::IntegerAttr::get(
        type, llvm::APInt(type.getIntOrFloatBitWidth(), static_cast<uint64_t>(value), /*isSigned=*/true,
                          /*implicitTrunc=*/true)));
  }

  mlir::Value add(mlir::Value x, mlir::Value y) { return make<mlir::arith::AddFOp>(x, y); }
  mlir::Value add(mlir::Value x, double y) { return add(x, real(x.getType(), y)); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return make<mlir::arith::SubFOp>(x, y); }
  mlir::Value sub(double x, mlir::Value y) { return sub(real(y.getType(), x), y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return make<mlir::arith::MulFOp>(x, y); }
  mlir::Value mul(mlir::Value x, double y) { return mul(x, real(x.getType(), y)); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return make<mlir::arith::DivFOp>(x, y); }
  mlir::Value div(double x, mlir::Value y) { return div(real(y.getType(), x), y); }
  mlir::Value neg(mlir::Value x) { return make<mlir::arith::NegFOp>(x); }
  mlir::Value exp(mlir::Value x) { return make<mlir::math::ExpOp>(x); }
  mlir::Value tanh(mlir::Value x) { return make<mlir::math::TanhOp>(x); }
  /// 1 / (1 + exp(-x)); exp may overflow to infinity, which gives 0.
  mlir::Value sigmoid(mlir::Value x) { return div(1.0, add(exp(neg(x)), 1.0)); }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value x, double y) {
    return make<mlir::arith::CmpFOp>(predicate, x, real(x.getType(), y));
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return make<mlir::arith::SelectOp>(condition, x, y);
  }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace pdc::nn

#endif // PDC_DIALECTS_NN_IR_SCALARWRITER_H
