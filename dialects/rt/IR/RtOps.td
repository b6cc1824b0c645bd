//===- RtOps.td - the rt dialect: what a rank does ----------*- tablegen -*-===//
#ifndef PDC_DIALECTS_RT_IR_RTOPS_TD
#define PDC_DIALECTS_RT_IR_RTOPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::pdc::rt";
  let summary = "What a rank does, as a flat list of instructions over buffers";
  let description = [{
    One op is one instruction or one buffer of a rank program (runtime/program/program.fbs). Buffers are dense memrefs,
    views are strided memrefs with static offsets; sizes and strides are in elements, offsets of buffers in bytes.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

class Rt_Enum<string name, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<name, what, cases> {
  let cppNamespace = "::pdc::rt";
  let genSpecializedAttr = 0;
}
def Rt_BufferKind : Rt_Enum<"BufferKind", "what a buffer holds", [
  I32EnumAttrCase<"Parameter", 0, "parameter">, I32EnumAttrCase<"OptimizerState", 1, "optimizer_state">,
  I32EnumAttrCase<"State", 2, "state">, I32EnumAttrCase<"Gradient", 3, "gradient">,
  I32EnumAttrCase<"Activation", 4, "activation">, I32EnumAttrCase<"Temporary", 5, "temporary">,
  I32EnumAttrCase<"Input", 6, "input">, I32EnumAttrCase<"ScalarInput", 7, "scalar_input">,
  I32EnumAttrCase<"Output", 8, "output">, I32EnumAttrCase<"Constant", 9, "constant">]>;
def Rt_BufferKindAttr : EnumAttr<Rt_Dialect, Rt_BufferKind, "kind">;
def Rt_Segment : Rt_Enum<"Segment", "an arena of a rank", [
  I32EnumAttrCase<"Private", 0, "private">, I32EnumAttrCase<"Shared", 1, "shared">]>;
def Rt_SegmentAttr : EnumAttr<Rt_Dialect, Rt_Segment, "segment">;
def Rt_Reduction : Rt_Enum<"Reduction", "how contributions are combined", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">]>;
def Rt_ReductionAttr : EnumAttr<Rt_Dialect, Rt_Reduction, "reduction">;

def Rt_TokenType : TypeDef<Rt_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "An operation that was started";
}

def Rt_Memory : MemRefOf<[F32, F64, BF16, F16, I32, I64, I8, UI8, I1]>;

def Rt_ProgramOp : Rt_Op<"program", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "What some ranks do in one mode";
  let description = [{
    `mode` is "train", "gradient", "evaluate", "infer" or "reference_gradient". The program is that of each of `ranks`;
    rank ranks[i]'s samples begin at batch_starts[i] of the global batch; those of later micro-batches need not follow them.
    `local_batch` is how many samples of an input a rank of the program loads: none where it computes with no input.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$mode, DenseI64ArrayAttr:$ranks, I64Attr:$batch,
                       I64Attr:$local_batch, DenseI64ArrayAttr:$batch_starts,
                       OptionalAttr<I64Attr>:$private_bytes, OptionalAttr<I64Attr>:$shared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $mode `ranks` $ranks `batch` $batch `local` $local_batch `starts` $batch_starts attr-dict-with-keyword
    $body
  }];
  let hasVerifier = 1;
}

def Rt_DefineOp : Rt_Op<"define", [IsolatedFromAbove, Symbol, SingleBlock, NoTerminator]> {
  let summary = "The computation of a generated kernel: one nn.fusion, and the memory that it works on";
  let description = [{
    `arguments` are the memref types of the fusion's operands, then of its results that it does not compute in an
    operand's place (`donate`).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeArrayAttr:$arguments);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Rt_BufferOp : Rt_Op<"buffer"> {
  let summary = "A region of an arena";
  let description = [{
    ```mlir
    %w = rt.buffer parameter private "fc1.weight" {init = #nn.init<kaiming>} : memref<784x512xf32>
    ```
    `offset` (bytes), `first_use` and `last_use` (instruction indices, -1: always) are set by `memory`. `starts` says
    where each of the program's ranks' parts begins in `global_shape`: ranks x dimensions. `value` is the contents of a
    constant, `rank_values` one i64 per rank instead. `declared_shape`: the shape in the model and in checkpoints, where
    it is another one of the same elements than `global_shape`. `sharded`: ranks hold different parts of an output. `gradient`:
    the output is the gradient of the parameter of its name.
  }];
  let arguments = (ins Rt_BufferKindAttr:$kind, Rt_SegmentAttr:$segment, StrAttr:$name,
                       OptionalAttr<StrAttr>:$slot, OptionalAttr<AnyAttr>:$init,
                       OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<DenseI64ArrayAttr>:$starts,
                       OptionalAttr<ElementsAttr>:$value, OptionalAttr<DenseI64ArrayAttr>:$rank_values,
                       UnitAttr:$sharded, UnitAttr:$gradient, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$first_use, OptionalAttr<I64Attr>:$last_use,
                       OptionalAttr<DenseI64ArrayAttr>:$declared_shape);
  let results = (outs Rt_Memory:$result);
  let assemblyFormat = "$kind $segment $name attr-dict `:` type($result)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Keeps its contents over steps.
    bool isPersistent();
    /// Bytes of its dense contents.
    int64_t getBytes();
  }];
}

def Rt_ViewOp : Rt_Op<"view"> {
  let summary = "Part of a buffer, strided; offset and strides count from the buffer's first element";
  let description = [{
    `rank_offsets`: how many elements further on the view begins on each of the program's ranks.
  }];
  let arguments = (ins Rt_Memory:$buffer, OptionalAttr<DenseI64ArrayAttr>:$rank_offsets);
  let results = (outs Rt_Memory:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `to` type($result)";
  let hasVerifier = 1;
}

/// `flops` and `traffic_bytes` are estimates for traces and reports; `label` is what a person calls the instruction.
defvar Estimates = (ins StrAttr:$label, DefaultValuedAttr<F64Attr, "0.0">:$flops,
                        DefaultValuedAttr<F64Attr, "0.0">:$traffic_bytes);

def Rt_KernelOp : Rt_Op<"kernel", [AttrSizedOperandSegments]> {
  let summary = "Runs a generated kernel: `callee` is an rt.define";
  let description = [{
    `updates`: indices of the operands in `reads` in whose place the kernel computes a result.
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$callee), Estimates,
                       (ins DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$updates, Variadic<Rt_Memory>:$reads, Variadic<Rt_Memory>:$writes));
  let assemblyFormat = [{
    $callee $label `reads` `(` ($reads^ `:` type($reads))? `)` `writes` `(` ($writes^ `:` type($writes))? `)` attr-dict
  }];
}

def Rt_LibraryOp : Rt_Op<"library", [AttrSizedOperandSegments]> {
  let summary = "A call into runtime/kernels";
  let description = [{ `integers` and `floats` hold arrays: the call's attributes. }];
  let arguments = !con((ins StrAttr:$target), Estimates,
                       (ins DictionaryAttr:$integers, DictionaryAttr:$floats, Variadic<Rt_Memory>:$reads,
                            Variadic<Rt_Memory>:$writes, Optional<Rt_Memory>:$workspace));
  let assemblyFormat = [{
    $target $label `reads` `(` ($reads^ `:` type($reads))? `)` `writes` `(` $writes `:` type($writes) `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? `integers` $integers `floats` $floats attr-dict
  }];
  let hasVerifier = 1;
}

def Rt_FillOp : Rt_Op<"fill"> {
  let summary = "Writes zeros";
  let arguments = !con((ins Rt_Memory:$memory), Estimates);
  let assemblyFormat = "$label $memory attr-dict `:` type($memory)";
  let hasVerifier = 1;
}

def Rt_CopyOp : Rt_Op<"copy"> {
  let summary = "Copies dense memory of the same number of bytes";
  let arguments = !con((ins Rt_Memory:$from, Rt_Memory:$to), Estimates);
  let assemblyFormat = "$label $from `to` $to attr-dict `:` type($from) `to` type($to)";
  let hasVerifier = 1;
}

def Rt_CollectiveStartOp : Rt_Op<"collective_start"> {
  let summary = "Starts a collective: all_reduce, all_gather, reduce_scatter or broadcast in place, or all_to_all";
  let description = [{
    ```mlir
    %t = rt.collective_start "all_reduce" "bucket 0" sum %bucket groups [array<i64: 0, 1>] : memref<1024xf32>
    rt.collective_done %t
    ```
    `groups`: the members of each group in the order in which contributions are added. `counts`: elements of each
    member (all_gather, reduce_scatter). `root`: index in
    the group (broadcast). `sent`: what all_to_all reads; it writes `memory`. `order`: which collective of the step it
    is; all members must start the same one.
  }];
  let arguments = !con((ins StrAttr:$target), Estimates,
                       (ins Rt_ReductionAttr:$reduction, Rt_Memory:$memory, ArrayAttr:$groups,
                            OptionalAttr<DenseI64ArrayAttr>:$counts, OptionalAttr<I64Attr>:$root,
                            OptionalAttr<I64Attr>:$order, Optional<Rt_Memory>:$sent));
  let results = (outs Rt_TokenType:$token);
  let assemblyFormat = [{
    $target $label $reduction $memory (`from` $sent^ `:` type($sent))? `groups` $groups attr-dict `:` type($memory)
  }];
  let hasVerifier = 1;
}

/// Point to point: `peers` has the other side's rank for each of the program's ranks. Messages of one pair of ranks and
/// one tag arrive in the order in which they were sent.
class Rt_MessageOp<string mnemonic> : Rt_Op<mnemonic> {
  let arguments = !con(Estimates, (ins Rt_Memory:$memory, DenseI64ArrayAttr:$peers,
                                       DefaultValuedAttr<I64Attr, "0">:$tag));
  let results = (outs Rt_TokenType:$token);
  let assemblyFormat = "$label $memory `peers` $peers attr-dict `:` type($memory)";
  let hasVerifier = 1;
}
def Rt_SendStartOp : Rt_MessageOp<"send_start"> {
  let summary = "Starts sending memory, which must stay as it is until the send is done";
  let description = [{
    ```mlir
    %r = rt.receive_start "conv1 halo" %from_next peers [1] : memref<1x3x1x7xf32>
    %s = rt.send_start "conv1 halo" %to_next peers [1] : memref<1x3x1x7xf32>
    rt.collective_done %r
    rt.collective_done %s
    ```
    A send may be done only when the peer has started to receive: ranks that exchange messages start all receives before
    they wait for anything.
  }];
}
def Rt_ReceiveStartOp : Rt_MessageOp<"receive_start"> {
  let summary = "Starts receiving into memory";
}

def Rt_CollectiveDoneOp : Rt_Op<"collective_done"> {
  let summary = "Waits for what was started";
  let arguments = (ins Rt_TokenType:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

#endif // PDC_DIALECTS_RT_IR_RTOPS_TD
