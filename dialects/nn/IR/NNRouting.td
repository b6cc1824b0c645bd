//===- NNRouting.td - experts: who computes which token -----*- tablegen -*-===//
//
// A mixture of experts sends each token to the k experts whose gates are largest (Shazeer et al. 2017), as many tokens as
// an expert has room for (Lepikhin et al. 2020, "GShard"). Tokens come in groups [g, s]: an expert has `capacity` slots for
// each group, which are given in the order of the group's tokens. So routing depends on the model alone, never on the
// number of ranks, and needs no other group than the own.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_DIALECTS_NN_IR_NNROUTING_TD
#define PDC_DIALECTS_NN_IR_NNROUTING_TD

include "dialects/nn/IR/NNContraction.td"
include "dialects/nn/IR/NNLayer.td"

def NN_TopKOp : NN_DecomposedOp<"top_k", "BeforeFusion", [Differentiable]> {
  let summary = "The k largest of each row, largest first, and their indices (i32); of equal ones the first";
  let description = [{ input [..., n] -> values [..., k], indices [..., k]. }];
  let arguments = (ins NN_FloatTensor:$input, I64Attr:$k);
  let results = (outs NN_FloatTensor:$values, NN_IdTensor:$indices);
}

def NN_ExpertSlotsOp : NN_LibraryOp<"expert_slots"> {
  let summary = "Gives tokens their places at experts: experts [g, s, k] -> slots [g, s, k]";
  let description = [{
    Slot e * capacity + p is the p-th place of expert e in the token's group. Places are given to the first choices of all
    tokens of a group, in order, then to the second choices, and so on; a token that finds none left has the slot -1 and is
    dropped there.
  }];
  let arguments = (ins NN_IdTensor:$indices, I64Attr:$experts, I64Attr:$capacity);
  let results = (outs NN_IdTensor:$slots);
}

def NN_DispatchOp : NN_LibraryOp<"dispatch", [Differentiable, BuiltLocally, AttrSizedOperandSegments]> {
  let summary = "Tokens into slots: input [g, s, d], slots [g, s, k] -> [g, count, d]; zeros where no token is";
  let description = [{
    result[g, slots[g, t, i]] += gates[g, t, i] * input[g, t]; without `gates` they are one. `start`: of a part of the
    slots, the first; tokens of other slots are skipped.
  }];
  let arguments = (ins NN_FloatTensor:$input, NN_IdTensor:$slots, Optional<NN_FloatTensor>:$gates,
                       Optional<NN_Start>:$start, I64Attr:$count);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $input `to` $slots (`gates` $gates^)? (`from` $start^)? attr-dict `:` functional-type(operands, results)
  }];
}

def NN_CombineOp : NN_LibraryOp<"combine", [Differentiable, BuiltLocally]> {
  let summary = "Tokens out of slots: input [g, n, d], slots [g, s, k], gates [g, s, k] -> [g, s, d]";
  let description = [{
    result[g, t] = sum over i of gates[g, t, i] * input[g, slots[g, t, i]]; dropped tokens and those in slots of other parts
    (see `nn.dispatch`) add nothing.
  }];
  let arguments = (ins NN_FloatTensor:$input, NN_IdTensor:$slots, NN_FloatTensor:$gates, Optional<NN_Start>:$start);
  let results = (outs NN_FloatTensor:$result);
}

def NN_CombineGradGatesOp : NN_LibraryOp<"combine_grad_gates", [BuiltLocally]> {
  let summary = "Gradient of combine's gates: (grad [g, s, d], input [g, n, d], slots [g, s, k]) -> [g, s, k]";
  let arguments = (ins NN_FloatTensor:$grad, NN_FloatTensor:$input, NN_IdTensor:$slots, Optional<NN_Start>:$start);
  let results = (outs NN_FloatTensor:$result);
}

def NN_LoadBalancingLossOp : NN_CompositeOp<"load_balancing_loss"> {
  let summary = "n * sum over experts e of (share of tokens whose first choice is e) * (mean gate of e): scalar f32";
  let description = [{
    Fedus et al. 2021 ("Switch Transformers"), equation 4: one when tokens spread evenly. gates [..., n], indices [..., k].
  }];
  let arguments = (ins NN_FloatTensor:$gates, NN_IdTensor:$indices);
}

#endif // PDC_DIALECTS_NN_IR_NNROUTING_TD
