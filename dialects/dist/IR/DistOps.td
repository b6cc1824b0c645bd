//===- DistOps.td - the dist dialect: how a model is split --*- tablegen -*-===//
#ifndef PDC_DIALECTS_DIST_IR_DISTOPS_TD
#define PDC_DIALECTS_DIST_IR_DISTOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::pdc::dist";
  let summary = "How a step is split over ranks";
  let description = [{
    A plan is IR. Ranks form a mesh with named axes (`dist.mesh`); each value of an `nn.step` with global shapes has a
    layout (`#dist.layout`), and `dist.reshard` says where it changes. Discardable attributes carry the layouts:

    - `dist.mesh = @mesh` of a step: the mesh over which it is split;
    - `dist.layout` of a step's arguments and results;
    - `dist.layouts` of an op: one layout per result. An op without it has replicated results.

    Steps that run in micro-batches (`pipeline`) have an input argument for each micro-batch, of whose samples they compute
    with the input:

    - `dist.batch_part = 8` of such an argument: the sample of the batch with which the micro-batch begins;
    - `dist.batch = 16` of the step: the samples of the batch.

    Where the replicas of a stage take micro-batches in turn, each has a step of its own:

    - `dist.replica = @stage0_replica1` of such a step: the mesh of the ranks that run it, part of the stage's.

    The `partition` pass reads only these. What it makes, steps with local shapes, has explicit collectives, and
    `dist.ranks`, `dist.global` (the type on one device) and `dist.layout` on arguments and results.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;
def Dist_Tensor : RankedTensorOf<[AnyFloat, AnyInteger]>;

def Dist_Reduction : I32EnumAttr<"Reduction", "how contributions are combined", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]> {
  let cppNamespace = "::pdc::dist";
  let genSpecializedAttr = 0;
}
def Dist_ReductionAttr : EnumAttr<Dist_Dialect, Dist_Reduction, "reduction">;

def Dist_LayoutAttr : AttrDef<Dist_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "Which mesh axes split which dimension of a value, and over which it is a partial result";
  let description = [{
    ```mlir
    #dist.layout<[["data"], []]>                       // dimension 0 is split over "data"
    #dist.layout<[["data"] by 128, []]>                // in whole blocks of 128: a part begins at a multiple of 128
    #dist.layout<[[], ["tensor"]], sum = ["data"]>     // the value is the sum of what the ranks along "data" hold
    ```
    A dimension of n blocks that is split into p parts gives part i n/p blocks, rounded down, and one more where
    i < n mod p: nothing is padded. Several axes split major to minor. An axis stands once in a layout.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$dims, "::mlir::DenseI64ArrayAttr":$blocks,
                        "::mlir::ArrayAttr":$sum, "::mlir::ArrayAttr":$max);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Every rank holds the whole value.
    static LayoutAttr getReplicated(::mlir::MLIRContext *context, int64_t rank);
    /// `axes` split dimension `dim` in blocks of `block` elements; the rest is whole.
    static LayoutAttr getSplit(::mlir::MLIRContext *context, int64_t rank, int64_t dim,
                               ::llvm::ArrayRef<::llvm::StringRef> axes, int64_t block = 1);
    /// This layout, but a partial result over `axes`.
    LayoutAttr withPartial(bool isMax, ::mlir::ArrayAttr axes) const;
    int64_t getRank() const { return getDims().size(); }
    ::mlir::ArrayAttr getAxes(int64_t dim) const { return ::llvm::cast<::mlir::ArrayAttr>(getDims()[dim]); }
    bool isSplit(int64_t dim) const { return !getAxes(dim).empty(); }
    bool isPartial() const { return !getSum().empty() || !getMax().empty(); }
    bool isReplicated() const;
  }];
}

def Dist_MeshOp : Dist_Op<"mesh", [Symbol]> {
  let summary = "The ranks as an n-dimensional grid with named axes";
  let description = [{
    ```mlir
    dist.mesh @mesh axes(["data" = 4, "tensor" = 2])
    dist.mesh @stage1 axes(["data" = 2]) from 8
    ```
    Ranks 0, 1, ... (or those from the given one on, as in the mesh of a pipeline's stage) fill the grid in row-major
    order: the last axis runs fastest.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names, DenseI64ArrayAttr:$axis_sizes,
                       OptionalAttr<I64Attr>:$first_rank);
  let assemblyFormat = [{
    $sym_name `axes` `(` custom<MeshAxes>($axis_names, $axis_sizes) `)` (`from` $first_rank^)? attr-dict
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::ArrayAttr":$axisNames,
                                 "::mlir::DenseI64ArrayAttr":$axisSizes), [{
    build($_builder, $_state, $_builder.getStringAttr(name), axisNames, axisSizes, ::mlir::IntegerAttr());
  }]>];
  let extraClassDeclaration = [{
    int64_t getNumRanks();
    int64_t getFirst() { return getFirstRank().value_or(0); }
    /// All of them, in order.
    ::llvm::iota_range<int64_t> getRanks() { return ::llvm::seq<int64_t>(getFirst(), getFirst() + getNumRanks()); }
    /// The index of the axis, or -1.
    int64_t findAxis(::llvm::StringRef axis);
    /// Into how many parts the axes (of strings, major to minor) split.
    int64_t getParts(::mlir::ArrayAttr axes);
    /// Which of the parts along `axes` is the rank's.
    int64_t getPart(::mlir::ArrayAttr axes, int64_t rank);
    /// The ranks that differ along `axes` only, in order of their parts; one group per choice of the other axes.
    ::llvm::SmallVector<::llvm::SmallVector<int64_t>> getGroups(::mlir::ArrayAttr axes);
  }];
}

/// Replaces a layout by another: the layout of its result.
def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "Gives a value another layout; the value itself is the same";
  let description = [{
    ```mlir
    %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<784x512xf32>
    ```
    `partition` makes the cheapest sequence of collectives of it (passes/layouts/Reshard.h) and shares those that are
    equal. Reshards with different `dist.apart` attributes share nothing: a gathered parameter that is used forward and
    backward need not stay in between.
  }];
  let arguments = (ins Dist_Tensor:$input);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_SummandOp : Dist_Op<"summand", [Pure, SameOperandsAndResultType]> {
  let summary = "What the ranks along some axes hold of a sum, each a summand of its own";
  let description = [{
    ```mlir
    %1 = dist.summand %0 {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : tensor<784x512xf32>
    ```
    Where the replicas of a stage take micro-batches in turn, each adds up the gradients of its own: `%0` is whole on each, and
    not the same. The result is the sum over those axes, in the layout of `%0`. Nothing is computed.
  }];
  let arguments = (ins Dist_Tensor:$input);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_AlikeOp : Dist_Op<"alike", [SameTypeOperands]> {
  let summary = "A hint for planners: two values are best laid out alike";
  let description = [{
    ```mlir
    dist.alike %x, %dx : tensor<16x128xf32>
    ```
    `autodiff` can state it for a value and its gradient. A planner that searches layouts takes one decision for both,
    which makes the search small, and removes the op. It says nothing about the values themselves.
  }];
  let arguments = (ins Dist_Tensor:$value, Dist_Tensor:$other);
  let assemblyFormat = "$value `,` $other attr-dict `:` type($value)";
}

class Dist_CollectiveOp<string mnemonic, list<Trait> traits = []> : Dist_Op<mnemonic, traits # [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Dist_AllReduceOp : Dist_CollectiveOp<"all_reduce", [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Combines what the ranks along axes hold, elementwise; all get the results";
  let description = [{
    ```mlir
    %1:2 = dist.all_reduce sum over @mesh ["data"] (%a, %b) {bucket = 0} : tensor<512x10xf32>, tensor<10xf32>
    ```
    Several operands of one element type travel as one message.
  }];
  let arguments = (ins Dist_ReductionAttr:$reduction, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes,
                       Variadic<Dist_Tensor>:$inputs, OptionalAttr<I64Attr>:$bucket);
  let results = (outs Variadic<Dist_Tensor>:$results);
  let assemblyFormat = "$reduction `over` $mesh $axes `(` $inputs `)` attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

/// `sizes`: of the part of each member along the dimension, in the order of the members; without it, those of a split
/// in blocks of one element. The same for all ranks that run the op.
class Dist_MovingOp<string mnemonic, dag attributes> : Dist_CollectiveOp<mnemonic> {
  let arguments = !con((ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, Dist_Tensor:$input), attributes);
  let results = (outs Dist_Tensor:$result);
  let hasVerifier = 1;
}

class Dist_OneDimOp<string mnemonic, string whole, dag attributes> : Dist_MovingOp<mnemonic, !con(attributes,
    (ins I64Attr:$dim, OptionalAttr<DenseI64ArrayAttr>:$sizes))> {
  let extraClassDeclaration = [{
    /// The sizes of the members' parts.
    ::llvm::SmallVector<int64_t> getMemberSizes(int64_t members) {
      return partSizes(getSizes(), }] # whole # [{.getType().getDimSize(getDim()), members);
    }
  }];
}

def Dist_AllGatherOp : Dist_OneDimOp<"all_gather", "getResult()", (ins)> {
  let summary = "Joins the parts of a dimension that the ranks along axes hold, in order";
  let description = [{
    ```mlir
    %1 = dist.all_gather over @mesh ["data"] dim 0 (%0) {sizes = array<i64: 3, 2>} : tensor<3x4xf32> to tensor<5x4xf32>
    ```
  }];
  let assemblyFormat = "`over` $mesh $axes `dim` $dim `(` $input `)` attr-dict `:` type($input) `to` type($result)";
}

def Dist_ReduceScatterOp : Dist_OneDimOp<"reduce_scatter", "getInput()", (ins Dist_ReductionAttr:$reduction)> {
  let summary = "Combines elementwise; each rank along axes gets its part of a dimension";
  let assemblyFormat = [{
    $reduction `over` $mesh $axes `dim` $dim `(` $input `)` attr-dict `:` type($input) `to` type($result)
  }];
}

def Dist_SliceOp : Dist_OneDimOp<"slice", "getInput()", (ins)> {
  let summary = "This rank's part of a dimension, of what all ranks along axes hold";
  let description = [{
    The counterpart of `all_gather`, without communication: a view that begins elsewhere on each rank.
    ```mlir
    %1 = dist.slice over @mesh ["data"] dim 0 (%0) {sizes = array<i64: 3, 2>} : tensor<5x4xf32> to tensor<3x4xf32>
    ```
  }];
  let assemblyFormat = "`over` $mesh $axes `dim` $dim `(` $input `)` attr-dict `:` type($input) `to` type($result)";
}

def Dist_AllToAllOp : Dist_MovingOp<"all_to_all", (ins I64Attr:$split_dim, I64Attr:$concat_dim,
    OptionalAttr<DenseI64ArrayAttr>:$split_sizes, OptionalAttr<DenseI64ArrayAttr>:$concat_sizes)> {
  let summary = "Splits one dimension over the ranks along axes and joins another";
  let assemblyFormat = [{
    `over` $mesh $axes `split` $split_dim `concat` $concat_dim `(` $input `)` attr-dict
      `:` type($input) `to` type($result)
  }];
  let extraClassDeclaration = [{
    /// The sizes of the members' parts of either dimension.
    ::llvm::SmallVector<int64_t> getMemberSplitSizes(int64_t members) {
      return partSizes(getSplitSizes(), getInput().getType().getDimSize(getSplitDim()), members);
    }
    ::llvm::SmallVector<int64_t> getMemberConcatSizes(int64_t members) {
      return partSizes(getConcatSizes(), getResult().getType().getDimSize(getConcatDim()), members);
    }
  }];
}

def Dist_BroadcastOp : Dist_CollectiveOp<"broadcast", [SameOperandsAndResultType]> {
  let summary = "The value of the rank with part `root` along axes, on all of them";
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$root, Dist_Tensor:$input);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "`over` $mesh $axes `root` $root `(` $input `)` attr-dict `:` type($result)";
}

def Dist_HaloExchangeOp : Dist_MovingOp<"halo_exchange", (ins I64Attr:$dim, DenseI64ArrayAttr:$has,
                                                              DenseI64ArrayAttr:$needs)> {
  let summary = "Elements of other parts of a dimension, next to the own ones";
  let description = [{
    ```mlir
    %1 = dist.halo_exchange over @mesh ["tensor"] dim 2 has [0, 4, 4, 7] needs [0, 5, 3, 7] (%0)
        : tensor<1x3x4x7xf32> to tensor<1x3x5x7xf32>
    ```
    Part i along `axes` has elements [has[2i], has[2i + 1]) of the whole dimension and gets [needs[2i], needs[2i + 1]),
    which may reach over several parts, or leave out own elements.
  }];
  let assemblyFormat = [{
    `over` $mesh $axes `dim` $dim `has` $has `needs` $needs `(` $input `)` attr-dict `:` type($input) `to` type($result)
  }];
  let extraClassDeclaration = [{
    /// Elements [first, second) that part `from` sends to part `to` (or keeps, for itself); none if not less.
    std::pair<int64_t, int64_t> getMoved(int64_t from, int64_t to);
  }];
}

def Dist_ShardStartOp : Dist_CollectiveOp<"shard_start"> {
  let summary = "Where this rank's part of a dimension begins, in elements";
  let description = [{
    ```mlir
    %0 = dist.shard_start over @mesh ["data"] size 2048 block 128 : tensor<i64>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes, I64Attr:$size, I64Attr:$block);
  let results = (outs RankedTensorOf<[I64]>:$result);
  let assemblyFormat = "`over` $mesh $axes `size` $size `block` $block attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_OptimizationBarrierOp : Dist_Op<"optimization_barrier", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Its operands; what uses the results comes after all that makes the operands";
  let description = [{
    ```mlir
    %1:2 = dist.optimization_barrier %x, %dy : tensor<8x4xf32>, tensor<8x4xf32>
    ```
    As StableHLO's op of this name. No pass sees through it: what is computed of `%1#0` is not merged with what is computed
    of `%x`, and waits for `%dy`. So `recompute` keeps what the backward pass computes again apart from the forward pass.
    Results lie as their operands do. `lower` removes it; it costs nothing.
  }];
  let arguments = (ins Variadic<Dist_Tensor>:$inputs);
  let results = (outs Variadic<Dist_Tensor>:$results);
  let assemblyFormat = "$inputs attr-dict `:` type($inputs)";
  let hasVerifier = 1;
}

/// Values on their way from one stage of a pipeline to another, with global shapes. `mesh` is this stage's, `peer` the
/// other's; `tag` tells the messages of two stages apart.
class Dist_StageMessageOp<string mnemonic> : Dist_Op<mnemonic, [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

def Dist_StageSendOp : Dist_StageMessageOp<"stage_send"> {
  let summary = "Starts sending a value to the ranks of another stage";
  let description = [{
    ```mlir
    dist.stage_send from @stage0 to @stage1 tag 0 as #dist.layout<[[], ["tensor"]]> (%y) : tensor<4x128xf32>
    ```
    `layout` is how the other stage wants it. No side has a partial result. `partition` makes a `dist.send` of each piece
    that a rank sends to another (passes/layouts/Transfer.h).
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, FlatSymbolRefAttr:$peer, I64Attr:$tag, Dist_LayoutAttr:$layout,
                       Dist_Tensor:$input);
  let assemblyFormat = "`from` $mesh `to` $peer `tag` $tag `as` $layout `(` $input `)` attr-dict `:` type($input)";
}

def Dist_StageWaitOp : Dist_StageMessageOp<"stage_wait"> {
  let summary = "Waits until what was sent with this tag to this stage is sent";
  let arguments = (ins FlatSymbolRefAttr:$mesh, FlatSymbolRefAttr:$peer, I64Attr:$tag);
  let assemblyFormat = "`from` $mesh `to` $peer `tag` $tag attr-dict";
}

def Dist_StageReceiveOp : Dist_StageMessageOp<"stage_receive"> {
  let summary = "What another stage sends, in the layout that `dist.layouts` states";
  let description = [{
    ```mlir
    %0 = dist.stage_receive at @stage1 from @stage0 tag 0 as #dist.layout<[["data"], []]> : tensor<4x128xf32>
    ```
    `layout` is how the other stage has it.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, FlatSymbolRefAttr:$peer, I64Attr:$tag, Dist_LayoutAttr:$layout);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "`at` $mesh `from` $peer `tag` $tag `as` $layout attr-dict `:` type($result)";
}

/// Messages between two ranks. `peers`: the other rank, for each of the step's `dist.ranks`. `tag` tells the messages of
/// one pair of ranks apart.
class Dist_MessageOp<string mnemonic> : Dist_Op<mnemonic> {
  let hasVerifier = 1;
}

def Dist_SendOp : Dist_MessageOp<"send"> {
  let summary = "Starts sending a value to another rank";
  let description = [{
    ```mlir
    dist.send to [2, 3] tag 0 (%y) : tensor<4x128xf32>
    ```
    The peer's `dist.receive` with the same tag gets it. The value must stay as it is until `dist.send_wait`, or the end
    of the program.
  }];
  let arguments = (ins DenseI64ArrayAttr:$peers, I64Attr:$tag, Dist_Tensor:$input);
  let assemblyFormat = "`to` $peers `tag` $tag `(` $input `)` attr-dict `:` type($input)";
}

def Dist_SendWaitOp : Dist_MessageOp<"send_wait"> {
  let summary = "Waits until the message with this tag to this peer is sent";
  let arguments = (ins DenseI64ArrayAttr:$peers, I64Attr:$tag);
  let assemblyFormat = "`to` $peers `tag` $tag attr-dict";
}

def Dist_ReceiveOp : Dist_MessageOp<"receive"> {
  let summary = "What another rank sends; waited for where it is used first";
  let description = [{
    ```mlir
    %0 = dist.receive from [0, 1] tag 0 : tensor<4x128xf32>
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$peers, I64Attr:$tag);
  let results = (outs Dist_Tensor:$result);
  let assemblyFormat = "`from` $peers `tag` $tag attr-dict `:` type($result)";
}

def Dist_TaskOp : Dist_Op<"task"> {
  let summary = "A task of a schedule begins: what follows, up to the next one, belongs to it";
  let description = [{
    ```mlir
    dist.task "F" micro_batch 2 chunk 0
    ```
    `kind` is that of a schedule: F, B, I, W, or U. U is what is done once, after all micro-batches; in a schedule without a
    flush (PipeDream) each mini-batch has an update of its own, and the last U, without an update, is what is done at the
    end of the step. `fuse` makes no kernel of ops of several tasks.
  }];
  let arguments = (ins StrAttr:$kind, I64Attr:$micro_batch, I64Attr:$chunk);
  let assemblyFormat = "$kind `micro_batch` $micro_batch `chunk` $chunk attr-dict";
}

#endif // PDC_DIALECTS_DIST_IR_DISTOPS_TD
