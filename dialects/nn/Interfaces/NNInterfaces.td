//===- NNInterfaces.td - what an op knows about itself ------*- tablegen -*-===//
//
// All that the compiler needs to know about an op is asked through these interfaces; no pass has a switch over ops.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_TD
#define PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{
    An op with a gradient: reverse-mode differentiation asks it for the gradients of its operands, as ops, given those
    of its results.
  }];
  let methods = [
    InterfaceMethod<[{
      Appends to `operandGradients` one value per operand: the gradient with respect to it, of its type, or null where
      it has none (integer operands, operands the result does not depend on). `resultGradients` has one value per
      result, null where nothing depends on that result; at least one is not null.
    }], "::mlir::LogicalResult", "buildGradient",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::ArrayRef<::mlir::Value>":$resultGradients,
         "::llvm::SmallVectorImpl<::mlir::Value> &":$operandGradients)>
  ];
}

def NN_ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{ An op that can be split over the axes of a mesh. }];
  let methods = [
    InterfaceMethod<"The op's loops and which dimension of which value each runs over: see ShardingRule.h.",
      "::pdc::nn::ShardingRule", "getShardingRule">,
    InterfaceMethod<[{
      Builds this op for one part, whose operands and results have local types. The default clones the op with them,
      which is right where no attribute speaks of sizes or positions.
    }], "::llvm::SmallVector<::mlir::Value>", "buildLocal",
      (ins "::mlir::OpBuilder &":$builder, "const ::pdc::nn::LocalPart &":$part), [{}], [{
        return ::pdc::nn::cloneLocal($_op, builder, part);
      }]>,
    InterfaceMethod<[{
      Which elements of each operand a part needs along a factor of kind Halo, given those that it holds. Borders of the
      whole value bound what it may ask for.
    }], "::llvm::SmallVector<::pdc::nn::Interval>", "getHalo",
      (ins "unsigned":$factor, "const ::pdc::nn::HaloPart &":$part), [{}], [{
        return ::llvm::to_vector(part.operands);
      }]>
  ];
}

def NN_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{ An op that can say what it costs. }];
  let methods = [
    InterfaceMethod<"Floating-point operations and bytes of the op with its static shapes.",
      "::pdc::nn::OpCost", "getCost", (ins), [{}], [{ return ::pdc::nn::streamingCost($_op); }]>
  ];
}

def NN_DecomposableOpInterface : OpInterface<"DecomposableOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{ An op that can be written with simpler ops. }];
  let methods = [
    InterfaceMethod<"When it is replaced.", "::pdc::nn::DecomposeStage", "getDecomposeStage">,
    InterfaceMethod<"Builds the simpler ops before this one; returns the replacements of its results.",
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "decompose", (ins "::mlir::OpBuilder &":$builder)>
  ];
}

def NN_ElementwiseOpInterface : OpInterface<"ElementwiseOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{
    An op whose result element depends on one element of each operand (operands broadcast as in numpy: right-aligned,
    size one stretches). It is what generated kernels are made of.
  }];
  let methods = [
    InterfaceMethod<[{
      The scalar computation, in ops of `arith` and `math`. Floating-point `elements` arrive in the compute type (f32
      for f32, bf16 and f16; f64 for f64) and the result is returned in it; integers as they are, signless (ui8 as i8;
      the op knows from its operand's type). `index` holds
      the element's index per result dimension as `index` values (only for ops whose value depends on the position).
    }], "::mlir::Value", "buildScalar",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$elements, "::mlir::ValueRange":$index)>
  ];
}

def NN_LibraryOpInterface : OpInterface<"LibraryOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{
    An op that runs as one library call. Which of its operands and results the call takes, in which order and as which
    strided view, is part of the call (`LibraryCall::operands` in OpCost.h), so that lowering needs to know no op:
    `linear`, `linear_grad_weight`, `matmul` and `batch_matmul` are all the one call "matmul" with different views,
    C [b..., m, n] = A [b..., m, k] x B [b..., k, n] (+ bias [n]).
  }];
  let methods = [
    InterfaceMethod<"The call and its attributes.", "::pdc::nn::LibraryCall", "getLibraryCall">
  ];
}

def NN_MixedPrecisionOpInterface : OpInterface<"MixedPrecisionOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{
    An op of which some operands stay in f32 when a model computes in a shorter type. Such an op takes operands of
    different floating-point types; the type of its result is its own matter.
  }];
  let methods = [
    InterfaceMethod<"Whether this operand stays in f32; by default, all but the first.",
      "bool", "keepsFullPrecision", (ins "unsigned":$operand), [{}], [{ return operand != 0; }]>
  ];
}

def NN_IdOpInterface : OpInterface<"IdOpInterface"> {
  let cppNamespace = "::pdc::nn";
  let description = [{ An op that takes integers as numbers of rows or classes, and only some integers make sense. }];
  let methods = [
    InterfaceMethod<"Which integers this operand may hold; none where the operand is not one of ids.",
      "::std::optional<::pdc::nn::IdRange>", "getIdRange", (ins "unsigned":$operand)>
  ];
}
/// The integers of the results are those of the operands, in other places or times.
def NN_ForwardsIds : NativeOpTrait<"ForwardsIds"> { let cppNamespace = "::pdc::nn"; }

#endif // PDC_DIALECTS_NN_INTERFACES_NNINTERFACES_TD
