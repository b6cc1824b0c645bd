// Five samples in two micro-batches: 3 and 2. Gradients and the loss are added up; a whole step stays as reference.
// RUN: pdc-opt --pipeline='order="F0 B0 F1 B1"' %s | FileCheck %s

dist.mesh @mesh axes(["data" = 1])
nn.step "gradient" @gradient(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"},
      %x: tensor<5x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "gradient", nn.name = "w"}, tensor<4x2xf32> {nn.role = "gradient", nn.name = "v"})
    attributes {dist.mesh = @mesh} {
  %h = nn.matmul %x, %w : (tensor<5x4xf32>, tensor<4x4xf32>) -> tensor<5x4xf32>
  %y = nn.matmul %h, %v : (tensor<5x4xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<5x2xf32>) -> tensor<f32>
  %dy = nn.constant dense<1.0> : tensor<5x2xf32>
  %dv = nn.linear_grad_weight %h, %dy : (tensor<5x4xf32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  %dh = nn.matmul %dy, %v {transpose_rhs} : (tensor<5x2xf32>, tensor<4x2xf32>) -> tensor<5x4xf32>
  %dw = nn.linear_grad_weight %x, %dh : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<4x4xf32>
  nn.return %loss, %dw, %dv : tensor<f32>, tensor<4x4xf32>, tensor<4x2xf32>
}

// CHECK: nn.step "gradient" @reference_gradient{{.*}}dist.reference
// CHECK: nn.matmul %x, %w : (tensor<5x4xf32>
// CHECK: nn.step "gradient" @gradient
// CHECK-SAME: %[[X0:x]]: tensor<3x4xf32> {dist.batch_part = 0 : i64
// CHECK-SAME: %[[X1:x_[0-9]+]]: tensor<2x4xf32> {dist.batch_part = 3 : i64
// CHECK: dist.task "F" micro_batch 0 chunk 0
// CHECK: %[[H0:.*]] = nn.matmul %[[X0]], %w
// CHECK: %[[L0:.*]] = nn.reduce_sum
// CHECK: dist.task "B" micro_batch 0 chunk 0
// CHECK: %[[DV0:.*]] = nn.linear_grad_weight %[[H0]], %{{.*}} : (tensor<3x4xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
// CHECK: %[[DW0:.*]] = nn.linear_grad_weight %[[X0]]
// CHECK: dist.task "F" micro_batch 1 chunk 0
// CHECK: nn.matmul %[[X1]], %w
// CHECK: %[[L1:.*]] = nn.reduce_sum
// CHECK: %[[L:.*]] = nn.add %[[L0]], %[[L1]]
// CHECK: dist.task "B" micro_batch 1 chunk 0
// CHECK: %[[DV1:.*]] = nn.linear_grad_weight
// CHECK: %[[DV:.*]] = nn.add %[[DV0]], %[[DV1]]
// CHECK: %[[DW1:.*]] = nn.linear_grad_weight
// CHECK: %[[DW:.*]] = nn.add %[[DW0]], %[[DW1]]
// CHECK: dist.task "U"
// CHECK: nn.return %[[L]], %[[DW]], %[[DV]]
