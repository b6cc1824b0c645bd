//===- AutodiffPass.td - from a model to its steps ----------*- tablegen -*-===//
#ifndef PDC_PASSES_AUTODIFF_AUTODIFFPASS_TD
#define PDC_PASSES_AUTODIFF_AUTODIFFPASS_TD

include "mlir/Pass/PassBase.td"

def AutodiffPass : Pass<"autodiff", "::mlir::ModuleOp"> {
  let summary = "Turns the model into pure functions that train, differentiate, evaluate and infer";
  let description = [{
    The module's one `nn.model` becomes an `nn.step` per mode, named after it:

    | mode       | results                                                                  |
    | ---------- | ------------------------------------------------------------------------ |
    | `train`    | loss, metrics, new parameters, new optimizer state, new states           |
    | `gradient` | loss, metrics, the gradient of each parameter, before any clipping       |
    | `evaluate` | loss, metrics                                                            |
    | `infer`    | the model's results that are not scalars; no step where there are none   |

    The loss is the model's first result, a floating-point scalar; its other scalar results are metrics. Arguments are
    parameters, optimizer state, states, inputs, learning rate, step and seed, in this order, and only those that the
    mode needs: a label that inference does not read is no argument of it.

    Composite ops are decomposed (stage `before-autodiff`), with `inference` set in evaluation and inference. Reverse
    mode then asks each op for its gradient (DifferentiableOpInterface). A parameter that does not influence the loss
    gets a warning and a gradient of zeros; an op without a gradient between a parameter and the loss is an error.
    Initializers become distributions (fans are known now). In the training step, updates of parameters stand at the
    end, in the order in which their gradients are ready; parameters and their state must be f32.

    With `clip-norm=C`, gradients are scaled by min(1, C / n), n = sqrt(sum of squares of all gradients)
    (optax.clip_by_global_norm; Pascanu et al. 2013), and n is the metric "grad_norm".

    Optimizers, with their hyperparameters and defaults (formulas in passes/autodiff/optimizers):
    `sgd` (weight_decay=0), `momentum` (momentum=0.9, nesterov=0, weight_decay=0), `adam` and `adamw` (beta1=0.9,
    beta2=0.999, epsilon=1e-8, weight_decay=0 and 1e-4), `lars` (momentum=0.9, nesterov=0, weight_decay=0,
    trust_coefficient=0.001, epsilon=0), `lamb` (beta1=0.9, beta2=0.999, epsilon=1e-6, weight_decay=0). Parameters of
    rank 0 and 1, and those with `no_decay`, do not decay.

    ```mlir
    nn.model @m(%x: tensor<4x8xf32>) -> (loss: tensor<f32>) {
      %w = nn.param "w" init(kaiming) : tensor<8x2xf32>
      %y = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
      nn.return %loss : tensor<f32>
    }
    ```

    With `optimizer=sgd modes=train` this becomes a step that, in essence, is

    ```mlir
    nn.step @train(%w: tensor<8x2xf32>, %x: tensor<4x8xf32>, %learning_rate: tensor<f32>)
        -> (loss: tensor<f32>, w: tensor<8x2xf32>) {
      %y = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
      %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
      %one = nn.constant dense<1.0> : tensor<f32>
      %dy = nn.broadcast %one : tensor<f32> to tensor<4x2xf32>
      %dw = nn.matmul %x, %dy {transpose_lhs} : (tensor<4x8xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
      %scaled = nn.mul %dw, %learning_rate : (tensor<8x2xf32>, tensor<f32>) -> tensor<8x2xf32>
      %new = nn.sub %w, %scaled : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
      nn.return %loss, %new : tensor<f32>, tensor<8x2xf32>
    }
    ```

    With `pairs`, a `dist.alike` stands for each value of the forward pass and its gradient, where both remain in use: a
    hint for a planner.

    Common subexpressions and dead code are removed. The model's name stays in the module's attribute
    `nn.model_name`.
  }];
  let options = [
    ListOption<"modes", "modes", "std::string", "Steps to make: train, gradient, evaluate, infer; all by default">,
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"sgd\"", "How parameters move in training">,
    ListOption<"hyperparameters", "hyperparameters", "std::string", "Of the optimizer, as name=value">,
    Option<"clipNorm", "clip-norm", "double", /*default=*/"0.0",
           "Largest norm of all gradients together; 0 does not clip">,
    Option<"pairs", "pairs", "bool", /*default=*/"false",
           "State with dist.alike which value is the gradient of which, for a planner">
  ];
  let dependentDialects = ["::pdc::nn::NNDialect", "::pdc::dist::DistDialect"];
}

#endif // PDC_PASSES_AUTODIFF_AUTODIFFPASS_TD
