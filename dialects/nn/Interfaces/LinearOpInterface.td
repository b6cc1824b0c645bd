//===- LinearOpInterface.td - what may work on partial sums -*- tablegen -*-===//
#ifndef PDC_DIALECTS_NN_INTERFACES_LINEAROPINTERFACE_TD
#define PDC_DIALECTS_NN_INTERFACES_LINEAROPINTERFACE_TD

include "mlir/IR/OpBase.td"

def NN_LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{
    An op that is additive in some of its operands: with the others fixed, op(a + a', b + b') = op(a, b) + op(a', b').
    Such operands may be partial sums over ranks, and what each rank makes of its terms are the terms of the result: the
    sum can wait. Additions are linear in both operands together, products in one at a time.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether the op is additive in these operands together (bit i: operand i; at least one is set), the others fixed and
      equal on all ranks. Not where rounding would make a sum of terms something else: a cast to fewer bits is not.
    }], "bool", "isLinearIn", (ins "const ::llvm::SmallBitVector &":$operands)>
  ];
}

#endif // PDC_DIALECTS_NN_INTERFACES_LINEAROPINTERFACE_TD
