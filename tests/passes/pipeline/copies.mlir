// Two copies of the model in opposite directions: each stage has both layers, one micro-batch goes down and one up, and the
// parts of the gradients are exchanged and added up in the same order on both stages.
// RUN: pdc-opt --pipeline='order="F0 F1.3 B1.3 B0;F1.2 F0 B0 B1.2"' %s | FileCheck %s

dist.mesh @mesh axes(["data" = 1])
nn.step "gradient" @gradient(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"},
      %x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "gradient", nn.name = "w"}, tensor<4x2xf32> {nn.role = "gradient", nn.name = "v"})
    attributes {dist.mesh = @mesh} {
  %h = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = nn.matmul %h, %v : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  %dy = nn.constant dense<1.0> : tensor<4x2xf32>
  %dv = nn.linear_grad_weight %h, %dy : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %dh = nn.matmul %dy, %v {transpose_rhs} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %dw = nn.linear_grad_weight %x, %dh : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  nn.return %loss, %dw, %dv : tensor<f32>, tensor<4x4xf32>, tensor<4x2xf32>
}

// CHECK: nn.step "gradient" @reference_gradient
// CHECK: nn.step "gradient" @gradient(%w: {{.*}}, %v:
// CHECK: dist.task "F" micro_batch 0 chunk 0
// CHECK: nn.matmul %{{.*}}, %w
// CHECK: dist.task "F" micro_batch 1 chunk 3
// CHECK: nn.matmul %{{.*}}, %v
// CHECK: dist.task "B" micro_batch 1 chunk 3
// CHECK: %[[DV1:.*]] = nn.linear_grad_weight {{.*}} -> tensor<4x2xf32>
// Sent as soon as the copy is through.
// CHECK: dist.stage_send {{.*}}(%[[DV1]])
// CHECK: dist.task "B" micro_batch 0 chunk 0
// CHECK: %[[DW0:.*]] = nn.linear_grad_weight {{.*}} -> tensor<4x4xf32>
// CHECK: dist.stage_send {{.*}}(%[[DW0]])
// CHECK: dist.task "U"
// The part of the first copy, here the stage's own, comes first.
// CHECK: %[[DW1:.*]] = dist.stage_receive {{.*}} : tensor<4x4xf32>
// CHECK: nn.add %[[DW0]], %[[DW1]]
// CHECK: %[[DV0:.*]] = dist.stage_receive {{.*}} : tensor<4x2xf32>
// CHECK: nn.add %[[DV0]], %[[DV1]]

// CHECK: nn.step "gradient" @gradient_stage1(%w: {{.*}}, %v:
// CHECK: dist.task "F" micro_batch 1 chunk 2
// CHECK: nn.matmul %{{.*}}, %w
// CHECK: dist.task "F" micro_batch 0 chunk 1
// CHECK: nn.matmul %{{.*}}, %v
// CHECK: dist.task "U"
