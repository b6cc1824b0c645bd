// The two halves of a backward pass: I is what the stage before waits for, W all else. Nothing waits for the first stage.
// RUN: pdc-opt --pipeline='order="F0 F1 I0 W0 I1 W1;F0 I0 F1 W0 I1 W1"' %s | FileCheck %s

dist.mesh @mesh axes(["data" = 1])
nn.step "gradient" @gradient(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x4xf32> {nn.role = "parameter", nn.name = "v"},
      %u: tensor<4x2xf32> {nn.role = "parameter", nn.name = "u"}, %x: tensor<6x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "gradient", nn.name = "w"},
        tensor<4x4xf32> {nn.role = "gradient", nn.name = "v"}, tensor<4x2xf32> {nn.role = "gradient", nn.name = "u"})
    attributes {dist.mesh = @mesh} {
  %h = nn.matmul %x, %w {dist.chunk = 0} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %g = nn.matmul %h, %v {dist.chunk = 1} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %y = nn.matmul %g, %u {dist.chunk = 1} : (tensor<6x4xf32>, tensor<4x2xf32>) -> tensor<6x2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<6x2xf32>) -> tensor<f32>
  %dy = nn.constant dense<1.0> : tensor<6x2xf32>
  %du = nn.linear_grad_weight %g, %dy : (tensor<6x4xf32>, tensor<6x2xf32>) -> tensor<4x2xf32>
  %dg = nn.matmul %dy, %u {transpose_rhs} : (tensor<6x2xf32>, tensor<4x2xf32>) -> tensor<6x4xf32>
  %dv = nn.linear_grad_weight %h, %dg : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %dh = nn.matmul %dg, %v {transpose_rhs} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %dw = nn.linear_grad_weight %x, %dh : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  nn.return %loss, %dw, %dv, %du : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x2xf32>
}

// CHECK: nn.step "gradient" @gradient(
// CHECK: dist.task "I" micro_batch 0 chunk 0
// CHECK-NOT: nn.linear_grad_weight
// CHECK: dist.task "W" micro_batch 0 chunk 0
// CHECK: nn.linear_grad_weight

// CHECK: nn.step "gradient" @gradient_stage1(
// CHECK: dist.task "I" micro_batch 0 chunk 1
// CHECK-NOT: nn.linear_grad_weight
// CHECK: dist.stage_send from @stage1 to @stage0
// CHECK: dist.task "F" micro_batch 1 chunk 1
// CHECK: dist.task "W" micro_batch 0 chunk 1
// CHECK-NEXT: nn.linear_grad_weight
// CHECK-NEXT: nn.linear_grad_weight
// CHECK: dist.task "I" micro_batch 1 chunk 1
