//===- NNStructure.td - models, blocks, parameters, steps ---*- tablegen -*-===//
#ifndef PDC_DIALECTS_NN_IR_NNSTRUCTURE_TD
#define PDC_DIALECTS_NN_IR_NNSTRUCTURE_TD

include "dialects/nn/IR/NNBase.td"

defvar FunctionDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Arguments print under the names they were written with (attribute `nn.name`).
    void getAsmBlockArgumentNames(::mlir::Region &region, ::mlir::OpAsmSetValueNameFn setName);
  }];

class NN_FunctionOp<string mnemonic, list<Trait> traits = []> : NN_Op<mnemonic, traits # [
    IsolatedFromAbove, FunctionOpInterface, Symbol, OpAsmOpInterface, SingleBlock]> {
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs
  );
  let regions = (region AnyRegion:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = FunctionDeclaration;
}

def NN_ModelOp : NN_FunctionOp<"model", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A model: the computation of one batch, on one device";
  let description = [{
    Arguments are the fields of a batch, with the batch as dimension 0. The first result is the loss, a scalar; further
    results are scalars (metrics) or tensors with the batch as dimension 0 (outputs of `infer`, the first of them).
    Results have names. Arguments and results keep theirs in the attribute `nn.name`.

    ```mlir
    nn.model @mlp(%x: tensor<?x784xf32>, %label: tensor<?xi32>)
        -> (loss: tensor<f32>, logits: tensor<?x10xf32>, accuracy: tensor<f32>) {
      ...
      nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x10xf32>, tensor<f32>
    }
    ```

    A first result without a name, as in `-> tensor<f32>`, is called "loss". Names of dimensions stand in the argument
    attribute `nn.dims = ["batch", "features"]`.
  }];
  let hasRegionVerifier = 1;
}

def NN_BlockOp : NN_FunctionOp<"block"> {
  let summary = "A part of a model that is written once and used several times";
  let description = [{
    Names of its parameters are relative: `nn.call "layer1.0."` and `nn.repeat 24 "h"` put theirs before them.
    A block may use other blocks, not itself.

    ```mlir
    nn.block @dense(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
      ...
      nn.return %y : tensor<?x64xf32>
    }
    ```
  }];
  let hasRegionVerifier = 1;
}

def NN_StepOp : NN_FunctionOp<"step"> {
  let summary = "One step of training, evaluation or inference, as a pure function";
  let description = [{
    What autodiff makes of a model. Each argument says in the attribute `nn.role` what it is: "parameter",
    "optimizer_state" (with `nn.slot`), "state", "input", "learning_rate", "step", "seed"; each result: "loss",
    "metric", "output", "gradient", "parameter", "optimizer_state" or "state". `nn.name` is the parameter's, input's or
    result's name; parameters, optimizer state and state also carry `nn.init` (an initializer), and the first two
    `nn.declared_shape` if the model states another shape (see `nn.param`). A result "parameter",
    "optimizer_state" or "state" is the new value of the argument of the same role, slot and name, and takes its buffer.
    `kind` is "train", "gradient", "evaluate" or "infer".

    ```mlir
    nn.step "infer" @mlp(%fc1.weight: tensor<784x10xf32> {nn.init = #nn.init<kaiming>, nn.role = "parameter"},
                         %x: tensor<32x784xf32> {nn.role = "input"})
        -> (logits: tensor<32x10xf32> {nn.role = "output"}) {
      ...
    }
    ```
  }];
  let hasRegionVerifier = 1;
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    StrAttr:$kind,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs
  );
  let extraClassDeclaration = FunctionDeclaration;
}

def NN_ReturnOp : NN_Op<"return", [Pure, Terminator, ReturnLike, ParentOneOf<["ModelOp", "BlockOp", "StepOp"]>]> {
  let summary = "Ends a model, a block or a step";
  let arguments = (ins Variadic<NN_Tensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let hasVerifier = 1;
}

def NN_CallOp : NN_Op<"call", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Applies a block once";
  let description = [{
    ```mlir
    %y = nn.call @bottleneck "layer1.0." (%x) : (tensor<?x64x56x56xf32>) -> tensor<?x256x56x56xf32>
    ```
    `prefix` is put before the names of the block's parameters.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$prefix, Variadic<NN_Tensor>:$operands);
  let results = (outs Variadic<NN_Tensor>:$results);
  let assemblyFormat = "$callee $prefix ` ` `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
}

def NN_RepeatOp : NN_Op<"repeat", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Applies a block several times, each time with parameters of its own";
  let description = [{
    ```mlir
    %h = nn.repeat 24 @block "h" (%x) : (tensor<?x1024x1024xf32>) -> tensor<?x1024x1024xf32>
    ```
    The first operands, as many as there are results, are carried from one application to the next; further operands
    are the same for all. The parameters of application i (from 0) have the prefix "h<i>.", here "h0.", "h1.", ...
  }];
  let arguments = (ins I64Attr:$count, FlatSymbolRefAttr:$callee, StrAttr:$prefix, Variadic<NN_Tensor>:$operands);
  let results = (outs Variadic<NN_Tensor>:$results);
  let assemblyFormat = "$count $callee $prefix ` ` `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

def NN_InitializerAttr : AttrDef<NN_Dialect, "Initializer"> {
  let mnemonic = "init";
  let summary = "How a parameter begins";
  let description = [{
    `kind` is zeros, ones, constant(value), normal(std) or normal(mean, std), truncated_normal likewise (cut at two
    standard deviations), uniform(low, high), kaiming (normal, std = sqrt(2 / fan_in); He et al. 2015),
    kaiming_uniform (in +-sqrt(6 / fan_in)), xavier (uniform in +-sqrt(6 / (fan_in + fan_out)); Glorot and Bengio
    2010), xavier_normal (std = sqrt(2 / (fan_in + fan_out))). Fans follow from the parameter's shape: [in, out] for
    rank 2, [out, in, kh, kw] for rank 4, where they count the kernel's elements. `values` are those in the
    parentheses. In attributes it is written `#nn.init<normal(0.02)>`.
  }];
  let parameters = (ins StringRefParameter<>:$kind, "::mlir::DenseF64ArrayAttr":$values);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Parses and prints `kind` or `kind(values)`, without the `#nn.init<>` around it.
    static ::mlir::FailureOr<InitializerAttr> parseBody(::mlir::AsmParser &parser);
    void printBody(::mlir::AsmPrinter &printer) const;
    /// Whether the values are random, so that only floating-point types can take them.
    bool isRandom() const;
    /// The distribution for a value of this shape. Fails, with a message to `emitError` if given, where `kind` needs
    /// fans and the shape has none.
    ::mlir::FailureOr<::pdc::nn::Distribution> resolve(::llvm::ArrayRef<int64_t> shape,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError = nullptr) const;
  }];
}

class NN_VariableOp<string mnemonic, dag more = (ins)> : NN_Op<mnemonic, [DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let arguments = !con((ins StrAttr:$name, NN_InitializerAttr:$init, OptionalAttr<StrArrayAttr>:$dims), more);
  let results = (outs NN_Tensor:$result);
  // nn.param "fc1.weight" init(kaiming) dims("in", "hidden") : tensor<784x512xf32>
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NN_ParamOp : NN_VariableOp<"param", (ins OptionalAttr<DenseI64ArrayAttr>:$declared_shape)> {
  let summary = "A trained parameter";
  let description = [{
    ```mlir
    %w = nn.param "fc1.weight" init(kaiming) dims("in", "hidden") : tensor<784x512xf32>
    ```
    Names are unique in a model. To share a parameter, use its value twice. `no_decay` (unit attribute) exempts it from
    weight decay; parameters of rank one are exempt by default.

    `declared_shape` is the shape that the model states where a pass has given the parameter another one of the same
    elements in row-major order (`separate-projections`). Initial values, weight decay and checkpoints follow it.

    ```mlir
    %w = nn.param "qkv.weight" init(xavier) {declared_shape = array<i64: 128, 384>} : tensor<128x3x128xf32>
    ```
  }];
  let extraClassDeclaration = [{
    /// The shape that the model states.
    ::llvm::ArrayRef<int64_t> getModelShape() {
      return getDeclaredShape() ? *getDeclaredShape() : getResult().getType().getShape();
    }
  }];
}

def NN_StateOp : NN_VariableOp<"state"> {
  let summary = "A value that persists over steps and is not trained by gradients, such as a running statistic";
}

def NN_AssignOp : NN_Op<"assign", [AllTypesMatch<["state", "value"]>]> {
  let summary = "Gives a state its value for the next step; only training does it";
  let description = [{ Made by the decomposition of `nn.batch_norm`; becomes a result of the training step. }];
  let arguments = (ins NN_Tensor:$state, NN_Tensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($state)";
  let hasVerifier = 1;
}

def NN_FusionOp : NN_Op<"fusion", [IsolatedFromAbove, SingleBlock, Pure]> {
  let summary = "Ops that become one generated kernel";
  let description = [{
    The body holds elementwise ops, reductions and constants only; its arguments are the operands. Made by the `fuse`
    pass. Pairs in `donate` are [operand, result]: the result is computed in the operand's buffer.

    ```mlir
    %r = nn.fusion(%a = %x : tensor<8x4xf32>, %b = %bias : tensor<4xf32>) -> tensor<8x4xf32>
        attributes {donate = [[0, 0]], label = "bias_relu"} {
      %0 = nn.add %a, %b : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
      %1 = nn.relu %0 : tensor<8x4xf32>
      nn.yield %1 : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands, DefaultValuedAttr<StrAttr, "\"\"">:$label,
                       OptionalAttr<ArrayAttr>:$donate);
  let results = (outs Variadic<NN_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def NN_YieldOp : NN_Op<"yield", [Pure, Terminator, ReturnLike, HasParent<"FusionOp">]> {
  let summary = "Ends a fusion";
  let arguments = (ins Variadic<NN_Tensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

#endif // PDC_DIALECTS_NN_IR_NNSTRUCTURE_TD
