// Two stages: the first keeps w, the second v. Activations go forward, gradients back; both return the loss.
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1;F0 B0 F1 B1"' %s | FileCheck %s

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

// CHECK: dist.mesh @stage0 axes(["data" = 1])
// CHECK: dist.mesh @stage1 axes(["data" = 1]) from 1
// CHECK: nn.step "gradient" @reference_gradient
// CHECK: nn.step "gradient" @gradient(%w: {{.*}}dist.stage = 0
// CHECK: dist.task "F" micro_batch 0 chunk 0
// CHECK: %[[H:.*]] = nn.matmul %{{.*}}, %w
// CHECK: dist.stage_send from @stage0 to @stage1 tag 0 as <{{\[\[}}], []]>(%[[H]]) : tensor<3x4xf32>
// The gradient is received while the next forward runs.
// CHECK: dist.task "F" micro_batch 1 chunk 0
// CHECK: %[[DH:.*]] = dist.stage_receive at @stage0 from @stage1 tag 0 as <{{.*}}> : tensor<3x4xf32>
// CHECK: dist.task "B" micro_batch 0 chunk 0
// It came, so what it was made of was received.
// CHECK: dist.stage_wait from @stage0 to @stage1 tag 0
// CHECK: %[[W0:.*]] = nn.linear_grad_weight %{{.*}}, %[[DH]]
// CHECK: dist.task "B" micro_batch 1 chunk 0
// CHECK: %[[W1:.*]] = nn.linear_grad_weight
// CHECK: %[[W:.*]] = nn.add %[[W0]], %[[W1]]
// CHECK: dist.task "U"
// CHECK: %[[LOSS:.*]] = dist.stage_receive at @stage0 from @stage1 tag 2 as <[]> : tensor<f32>
// CHECK: nn.return %[[LOSS]], %[[W]]

// CHECK: nn.step "gradient" @gradient_stage1(%v: {{.*}}dist.stage = 1
// CHECK: dist.task "F" micro_batch 0 chunk 1
// CHECK: %[[GOT:.*]] = dist.stage_receive at @stage1 from @stage0 tag 0 as <{{.*}}> : tensor<3x4xf32>
// CHECK: nn.matmul %[[GOT]], %v
// CHECK: dist.task "B" micro_batch 0 chunk 1
// CHECK: %[[NEXT:.*]] = dist.stage_receive at @stage1 from @stage0 tag 1 as <{{.*}}> : tensor<2x4xf32>
// CHECK: nn.linear_grad_weight %[[GOT]]
// CHECK: dist.stage_send from @stage1 to @stage0 tag 0
// CHECK: dist.task "F" micro_batch 1 chunk 1
// CHECK: nn.matmul %[[NEXT]], %v
// The loss is sent as soon as it is complete.
// CHECK: dist.stage_send from @stage1 to @stage0 tag 2
// CHECK: dist.task "U"
