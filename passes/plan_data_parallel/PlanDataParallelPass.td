//===- PlanDataParallelPass.td - the batch is split over all ranks -*- tablegen -*-===//
#ifndef PDC_PASSES_PLAN_DATA_PARALLEL_PLANDATAPARALLELPASS_TD
#define PDC_PASSES_PLAN_DATA_PARALLEL_PLANDATAPARALLELPASS_TD

include "mlir/Pass/PassBase.td"

def PlanDataParallelPass : Pass<"plan-data-parallel", "::mlir::ModuleOp"> {
  let summary = "Splits the batch of every step over all ranks; parameters stay whole";
  let description = [{
    Adds a mesh of one axis, "data", and a layout for each value: inputs are split along dimension 0, parameters,
    optimizer state and state are replicated, and whatever has the batch in its sharding rule is split too. A result
    that sums (or takes the largest) over the batch is a partial result, and is reduced at once: a `dist.reshard`
    follows it.

    ```mlir
    nn.step @gradient(%x: tensor<8x4xf32> {nn.role = "input"}, %dy: tensor<8x2xf32> {nn.role = "input"}) ... {
      %dw = nn.linear_grad_weight %x, %dy : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    ```

    becomes, for two ranks,

    ```mlir
    dist.mesh @mesh axes(["data" = 2])
    nn.step @gradient(%x: tensor<8x4xf32> {dist.layout = #dist.layout<[["data"], []]>, ...}, ...) ... {
      %0 = nn.linear_grad_weight %x, %dy {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : ...
      %dw = dist.reshard %0 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x2xf32>
    ```

    A batch that does not divide is split unevenly, the first ranks take one sample more; a batch smaller than the
    number of ranks is an error. On one rank nothing is split.
  }];
  let options = [Option<"ranks", "ranks", "int64_t", /*default=*/"1", "Number of ranks">];
  let dependentDialects = ["::pdc::dist::DistDialect"];
}

#endif // PDC_PASSES_PLAN_DATA_PARALLEL_PLANDATAPARALLELPASS_TD
