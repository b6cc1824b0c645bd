//===- PartitionPass.td - from global to local shapes -------*- tablegen -*-===//
#ifndef PDC_PASSES_PARTITION_PARTITIONPASS_TD
#define PDC_PASSES_PARTITION_PARTITIONPASS_TD

include "mlir/Pass/PassBase.td"

def PartitionPass : Pass<"partition", "::mlir::ModuleOp"> {
  let summary = "Turns steps with layouts into steps with local shapes and explicit collectives";
  let description = [{
    Reads the mesh and the layouts, whoever wrote them, and checks them: the values of an op must be laid out as its
    sharding rule wants them for one split of its loops.

    A step becomes one step per distinct set of local shapes, each with the ranks it is for: where 16 samples are split
    over 3 ranks, `@train` is that of rank 0 (6 samples) and `@train_1` that of ranks 1 and 2 (5 samples).

    ```mlir
    %0 = nn.linear_grad_weight %x, %dy {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : ...
    %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x2xf32>
    ```

    becomes

    ```mlir
    %0 = nn.linear_grad_weight %x, %dy : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = dist.all_reduce sum over @mesh ["data"](%0) : tensor<4x2xf32>
    ```

    Whatever layouts a `dist.reshard` lies between, it becomes the cheapest sequence of collectives and slices
    (passes/layouts/Reshard.h). The sum of two reduced values is reduced once, equal collectives are shared, slices and
    gathers that undo each other go, and of what is only sliced no more than that is reduced or gathered. An op that is
    linear in operands may get partial sums of them. An op whose layouts split a loop along which only its parts can be
    split (the columns of a softmax, the classes of a cross entropy) is replaced by these, with reductions of a number or
    two a row between them (passes/layouts/SplitByParts.h). Arguments and
    results keep their layout and have their type on one device in `dist.global`; inputs that are not split by samples,
    or not all in the same way, are loaded as whole samples and sliced. Of a step of kind "gradient" a whole copy stays,
    `@reference_gradient`, with the attribute `dist.reference`: what `verify` compares with.
  }];
  let dependentDialects = ["::pdc::dist::DistDialect"];
}

#endif // PDC_PASSES_PARTITION_PARTITIONPASS_TD
