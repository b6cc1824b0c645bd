//===- NNBase.td - the nn dialect ---------------------------*- tablegen -*-===//
#ifndef PDC_DIALECTS_NN_IR_NNBASE_TD
#define PDC_DIALECTS_NN_IR_NNBASE_TD

include "dialects/nn/Interfaces/NNInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::pdc::nn";
  let summary = "Models of deep learning, written for one device";
  let description = [{
    About fifty coarse operations with value semantics on tensors of static rank: one op is about one library call and
    one row of cost. Shapes are static, except that dimension 0 of inputs and of what depends on them may be `?`: the
    batch, which `pdc --batch=N` binds before anything else runs.

    A model is an `nn.model`; parameters are declared where they are used. Repeated structure is written once, as an
    `nn.block`, and applied by `nn.call` or `nn.repeat`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, traits>;

def NN_Float : AnyTypeOf<[F32, F64, BF16, F16]>;
def NN_FloatTensor : RankedTensorOf<[F32, F64, BF16, F16]>;
def NN_IdTensor : RankedTensorOf<[I32, I64]>;
def NN_BoolTensor : RankedTensorOf<[I1]>;
/// Where a part begins, for ops that depend on positions.
def NN_Start : Type<
    CPred<"$_self == ::mlir::RankedTensorType::get({}, ::mlir::IntegerType::get($_self.getContext(), 64))">,
    "a scalar i64 tensor", "::mlir::RankedTensorType">, BuildableType<"::mlir::RankedTensorType::get({}, $_builder.getI64Type())">;
def NN_Tensor : RankedTensorOf<[F32, F64, BF16, F16, I32, I64, I8, UI8, I1]>;

/// Result types are inferred through the op's adaptor, and verified with exactly one error: see InferredTypes.h.
def NN_InferredTypesTrait : NativeOpTrait<"InferredTypes", [], [{
    static ::llvm::LogicalResult inferReturnTypes(::mlir::MLIRContext *context,
        std::optional<::mlir::Location> location, Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types);
    /// The trait InferredTypes verifies the types.
    static ::llvm::LogicalResult refineReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location>,
        ::mlir::ValueRange, ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type> &) { return ::mlir::success(); }
  }], [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *context,
        std::optional<::mlir::Location> location, ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return $cppClass::inferReturnTypes(context, location, Adaptor(operands, attributes, properties, regions), types);
    }
  }]> {
  let cppNamespace = "::pdc::nn";
}
def NN_InferredTypes : TraitList<[DeclareOpInterfaceMethods<InferTypeOpInterface>, NN_InferredTypesTrait]>;

/// An op whose parts are not the op itself on local types, and one that has windows over its input besides.
defvar BuiltLocally = DeclareOpInterfaceMethods<NN_ShardableOpInterface, ["getShardingRule", "buildLocal"]>;
defvar BuiltWithHalo = DeclareOpInterfaceMethods<NN_ShardableOpInterface, ["getShardingRule", "buildLocal", "getHalo"]>;

/// A pure op whose result types follow from its operands and attributes.
class NN_InferredOp<string mnemonic, list<Trait> traits = []> : NN_Op<mnemonic, traits # [
    Pure, NN_InferredTypes,
    DeclareOpInterfaceMethods<NN_ShardableOpInterface, ["getShardingRule"]>]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

/// A pure op whose result types are written out.
class NN_TypedOp<string mnemonic, list<Trait> traits = []> : NN_Op<mnemonic, traits # [
    Pure, DeclareOpInterfaceMethods<NN_ShardableOpInterface, ["getShardingRule"]>]> {
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // PDC_DIALECTS_NN_IR_NNBASE_TD
