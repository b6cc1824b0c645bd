//===- BucketPass.td - all-reduces share messages -----------*- tablegen -*-===//
#ifndef PDC_PASSES_BUCKET_BUCKETPASS_TD
#define PDC_PASSES_BUCKET_BUCKETPASS_TD

include "mlir/Pass/PassBase.td"

def BucketPass : Pass<"bucket", "::mlir::ModuleOp"> {
  let summary = "Combines collectives over the same ranks into buckets that start as soon as their last operand exists";
  let description = [{
    As in PyTorch's DistributedDataParallel (Li et al. 2020): gradients join a bucket in the order in which backward
    makes them; a bucket that has reached `bytes` starts, and travels while backward goes on. Losses, metrics and other
    small sums travel in the buckets too.

    An all-reduce that another one depends on, as the statistics of batch normalization do, is urgent: it only waits
    for others that come before its first use. What depends on reduced values and on nothing that is still to be
    reduced, the optimizer, moves behind the last all-reduce (where a `dist.optimization_barrier` stands, only what is behind it).

    ```mlir
    %0 = dist.all_reduce sum over @mesh ["data"](%a) : tensor<4x2xf32>
    %b = nn.linear_grad_weight %x, %dy : ...
    %1 = dist.all_reduce sum over @mesh ["data"](%b) : tensor<2xf32>
    ```

    becomes

    ```mlir
    %b = nn.linear_grad_weight %x, %dy : ...
    %0:2 = dist.all_reduce sum over @mesh ["data"](%a, %b) {bucket = 0 : i64} : tensor<4x2xf32>, tensor<2xf32>
    ```

    Small `all_gather`s over the same axes become one, too, if nothing between them needs their results, and small
    `reduce_scatter`s: of the gradients of biases under ZeRO, of their updated values. The parts of several values lie
    together, a member's after the other's, which costs a copy; values of more than `small-bytes` travel alone.
  }];
  let options = [Option<"bytes", "bytes", "int64_t", /*default=*/"25 * 1024 * 1024", "Size at which a bucket starts">,
                 Option<"smallBytes", "small-bytes", "int64_t", /*default=*/"64 * 1024",
                        "Largest value that shares an all_gather or a reduce_scatter">];
  let dependentDialects = ["::pdc::dist::DistDialect"];
}

#endif // PDC_PASSES_BUCKET_BUCKETPASS_TD
