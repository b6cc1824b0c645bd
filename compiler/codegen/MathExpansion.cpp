//===- MathExpansion.cpp - transcendental functions as arithmetic ---------===//
//
// Coefficients: exp and tanh from the Cephes library (Moshier), log and erf minimax polynomials for f32 in
// the form published by Juffa (NVIDIA forums and Stack Overflow, BSD-licensed).
// tests/compiler/codegen/math_test.cpp measures the errors.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/MathExpansion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include <limits>

using namespace mlir;
using namespace pdc;

namespace {

/// Arithmetic on f32 and i32 values, written as in C.
class F32 {
public:
  F32(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  Value constant(float value) { return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value)); }
  Value integer(int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }
  Value fma(Value x, Value y, float z) { return fma(x, y, constant(z)); }
  Value fma(Value x, float y, Value z) { return fma(x, constant(y), z); }
  Value abs(Value x) { return math::AbsFOp::create(b, loc, x); }
  Value copySign(Value x, Value sign) { return math::CopySignOp::create(b, loc, x, sign); }
  Value select(Value condition, Value x, Value y) { return arith::SelectOp::create(b, loc, condition, x, y); }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return arith::CmpFOp::create(b, loc, predicate, x, y);
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, loc, b.getI32Type(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, loc, b.getF32Type(), x); }
  Value addInteger(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value subInteger(Value x, Value y) { return arith::SubIOp::create(b, loc, x, y); }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b, loc, b.getF32Type(), x); }

  /// Coefficients from the highest power down to x^0.
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value result = constant(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      result = fma(result, x, coefficient);
    return result;
  }

  Value exp(Value x);
  Value log(Value x);
  Value tanh(Value x);
  Value erf(Value x);

private:
  /// 2^n for -126 <= n <= 127.
  Value powerOfTwo(Value n) {
    return fromBits(arith::ShLIOp::create(b, loc, addInteger(n, integer(127)), integer(23)));
  }

  OpBuilder &b;
  Location loc;
};

} // namespace

Value F32::exp(Value x) {
  // Beyond these bounds the result is 0 or infinity; comparisons that are false for NaN let it through.
  Value low = constant(-104.0f), high = constant(89.0f);
  x = select(compare(arith::CmpFPredicate::OLT, x, low), low, x);
  x = select(compare(arith::CmpFPredicate::OGT, x, high), high, x);
  // n = round(x / ln 2), by adding 1.5 * 2^23: the integer then stands in the low bits.
  Value shift = constant(12582912.0f);
  Value shifted = fma(x, 1.44269504f, shift);
  Value n = subInteger(bits(shifted), integer(0x4B400000));
  Value rounded = sub(shifted, shift);
  // r = x - n ln 2, with ln 2 in two parts.
  Value r = fma(rounded, -0.693359375f, x);
  r = fma(rounded, 2.12194440e-4f, r);
  Value p = polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                           1.6666665459e-1f, 5.0000001201e-1f});
  p = fma(p, mul(r, r), add(r, constant(1.0f)));
  // 2^n in two factors, so that subnormal results and overflow come out right.
  Value half = arith::ShRSIOp::create(b, loc, n, integer(1));
  return mul(mul(p, powerOfTwo(half)), powerOfTwo(subInteger(n, half)));
}

Value F32::log(Value x) {
  // Subnormal numbers are scaled by 2^23 first.
  Value isSmall = compare(arith::CmpFPredicate::OLT, x, constant(1.17549435e-38f));
  Value a = select(isSmall, mul(x, constant(8388608.0f)), x);
  Value scale = select(isSmall, constant(-23.0f), constant(0.0f));
  // a = m 2^e with m in [2/3, 4/3).
  Value e = arith::AndIOp::create(b, loc, subInteger(bits(a), integer(0x3F2AAAAB)), integer(-8388608));
  Value m = sub(fromBits(subInteger(bits(a), e)), constant(1.0f));
  Value exponent = fma(toFloat(e), 1.19209290e-7f, scale);
  Value s = mul(m, m);
  Value r = polynomial(s, {-0.130310059f, -0.121483512f, -0.166846126f, -0.249996200f});
  Value t = polynomial(s, {0.140869141f, 0.139814854f, 0.200120345f});
  r = fma(t, m, r);
  r = fma(r, m, 0.333331972f);
  r = fma(r, m, -0.5f);
  r = fma(r, s, m);
  r = fma(exponent, 0.693147182f, r);
  // 0, negative numbers, infinity, NaN.
  const float infinity = std::numeric_limits<float>::infinity();
  Value zero = constant(0.0f);
  r = select(compare(arith::CmpFPredicate::OEQ, x, zero), constant(-infinity), r);
  r = select(compare(arith::CmpFPredicate::OLT, x, zero), constant(std::numeric_limits<float>::quiet_NaN()),
             r);
  r = select(compare(arith::CmpFPredicate::OEQ, x, constant(infinity)), x, r);
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, r);
}

Value F32::tanh(Value x) {
  Value magnitude = abs(x);
  Value z = mul(x, x);
  Value p = polynomial(
      z, {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f, 1.33314422036e-1f, -3.33332819422e-1f});
  Value small = fma(mul(p, z), x, x);
  Value one = constant(1.0f);
  Value large = sub(one, div(constant(2.0f), add(exp(add(magnitude, magnitude)), one)));
  Value result = select(compare(arith::CmpFPredicate::OLT, magnitude, constant(0.625f)), small, large);
  return copySign(result, x); // also of -0
}

Value F32::erf(Value x) {
  Value t = abs(x);
  Value s = mul(x, x);
  // |x| > 0.93: 1 - exp(polynomial).
  Value r = fma(t, -1.72853470e-5f, constant(3.83197126e-4f));
  Value u = fma(t, -3.88396438e-3f, constant(2.42546219e-2f));
  r = fma(r, s, u);
  r = fma(r, t, -1.06777877e-1f);
  r = fma(r, t, -6.34846687e-1f);
  r = fma(r, t, -1.28717512e-1f);
  r = fma(r, t, sub(constant(0.0f), t));
  // Beyond 4 the polynomial is of no use and the result is 1.
  r = select(compare(arith::CmpFPredicate::OGT, t, constant(4.0f)), constant(-104.0f), r);
  Value large = copySign(sub(constant(1.0f), exp(r)), x);
  Value p = polynomial(
      s, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  Value small = fma(p, x, x);
  return select(compare(arith::CmpFPredicate::OGT, t, constant(0.927734375f)), large, small);
}

/// A call of the libm function `name` of one f64.
static Value callLibm(OpBuilder &builder, Location loc, StringRef name, Value x) {
  auto module = x.getParentRegion()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    OpBuilder atEnd = OpBuilder::atBlockEnd(module.getBody());
    auto type = LLVM::LLVMFunctionType::get(x.getType(), {x.getType()});
    function = LLVM::LLVMFuncOp::create(atEnd, loc, name, type);
  }
  return LLVM::CallOp::create(builder, loc, function, ValueRange{x}).getResult();
}

void codegen::expandMath(Operation *root) {
  SmallVector<Operation *> found;
  root->walk([&](Operation *op) {
    if (isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp>(op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    OpBuilder builder(op);
    F32 f32(builder, op->getLoc());
    Value x = op->getOperand(0), result;
    if (x.getType().isF64()) {
      if (!isa<math::ErfOp>(op))
        continue;
      result = callLibm(builder, op->getLoc(), "erf", x);
    } else if (isa<math::ExpOp>(op)) {
      result = f32.exp(x);
    } else if (isa<math::LogOp>(op)) {
      result = f32.log(x);
    } else if (isa<math::TanhOp>(op)) {
      result = f32.tanh(x);
    } else {
      result = f32.erf(x);
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
}
