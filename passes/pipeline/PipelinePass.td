//===- PipelinePass.td - micro-batches and stages -----------*- tablegen -*-===//
#ifndef PDC_PASSES_PIPELINE_PIPELINEPASS_TD
#define PDC_PASSES_PIPELINE_PIPELINEPASS_TD

include "mlir/Pass/PassBase.td"

def PipelinePass : Pass<"pipeline", "::mlir::ModuleOp"> {
  let summary = "Runs planned steps in micro-batches, on the stages of a pipeline";
  let description = [{
    Takes steps with layouts, and a schedule as `compiler/schedule` writes it: a line a stage, here separated by ';'. The
    batch is split over an axis of time as a plan splits it over axes of ranks: sharding rules say what is a micro-batch's
    part of an op, and a sum over the batch is a partial sum of each micro-batch. These are added up in the order in which
    the tasks run; only then is reduced over ranks what the plan reduces, and parameters are updated once. So uneven
    micro-batches, masked labels and dropout give what one device gives for the whole batch.

    ```mlir
    %dw = nn.linear_grad_weight %x, %dy : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    ```

    becomes, with order="F0 B0 F1 B1",

    ```mlir
    dist.task "B" micro_batch 0 chunk 0
    %0 = nn.linear_grad_weight %x0, %dy0 : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    ...
    dist.task "B" micro_batch 1 chunk 0
    %1 = nn.linear_grad_weight %x1, %dy1 : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
    %dw = nn.add %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    ```

    Of each input a step has an argument for each micro-batch, in the plan's layout (`dist.batch_part`), and of what it
    computes nothing with none.

    The statistics of batch_norm are those of each micro-batch; the running ones move towards their average. So is the gradient
    of the balance of experts. A model that computes with another sum over the batch is refused, unless there is one micro-batch.

    With several stages each step becomes one step a stage, with `dist.stage`, over a mesh of the stage's own ranks, which
    follow those of the stage before. Forward ops are cut into chunks that take about equally long, in their order; a backward
    op follows the forward values that it needs. What crosses is a `dist.stage_send` and a `dist.stage_receive`. A parameter
    that several stages use lies on all of them, which add up its gradients and update it alike. Gradients are reduced over
    ranks when the last micro-batch has added its part.

    With `replicas`, those of each stage, which lie along the axes that split the batch, take micro-batches in turn (round-robin)
    instead of a part of each: the schedule has a line a replica, each becomes a step of its own (`dist.replica`), and what is
    computed of a micro-batch lies within the replica that has it. What is the same for all micro-batches lies as planned, and a
    sum over them is a partial sum over the replicas (`dist.summand`), which the plan reduces as it would have.

    Where stages are planned on meshes of different shapes, the module says which (`dist.stage_meshes`), and there is one step
    of each kind for each of them: the same ops in the same order, with other layouts and reshards.

    With updates ("F0 B0 U0 F1 B1 U1") the parts of the batch are mini-batches of a stream, each with an update of its own: a
    forward and its backward use the parameters as they were after the updates before that forward on its stage, or, with
    `vertical-sync`, on the first stage. The loss and the metrics are the mini-batches' average.

    Evaluation runs the forward tasks, inference one whole batch. Of a step of kind "gradient" a copy is left with
    `dist.reference`, for `verify`: the whole batch at once, unless the model has batch_norm.
  }];
  let options = [
    Option<"order", "order", "std::string", /*default=*/"\"F0 B0\"", "The schedule">,
    Option<"verticalSync", "vertical-sync", "bool", /*default=*/"false",
           "In a stream, a mini-batch meets the same version of the parameters on all stages">,
    ListOption<"replicas", "replicas", "int64_t",
               "Replicas of each stage that take micro-batches in turn, and have a line of the schedule each">
  ];
  let dependentDialects = ["::pdc::dist::DistDialect", "::pdc::nn::NNDialect"];
}

#endif // PDC_PASSES_PIPELINE_PIPELINEPASS_TD
