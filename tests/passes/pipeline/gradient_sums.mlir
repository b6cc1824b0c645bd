// What crosses a cut in the backward pass. A residual connection gives two gradients: they are added before the cut, and
// sent as one. What is masked of them for one branch of the stage before is masked there, since the other branch needs the
// gradient itself. This is so although a parameter
// of the first stage, w, is on the second, too.
// RUN: pdc-opt --pipeline='order="F0 B0;F0 B0"' %s | FileCheck %s

dist.mesh @mesh axes(["data" = 1])
nn.step "gradient" @gradient(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x4xf32> {nn.role = "parameter", nn.name = "v"},
      %u: tensor<4x4xf32> {nn.role = "parameter", nn.name = "u"}, %b: tensor<4xf32> {nn.role = "parameter", nn.name = "b"}, %x: tensor<6x4xf32> {nn.role = "input", nn.name = "x"},
      %m: tensor<6x4xf32> {nn.role = "input", nn.name = "m"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "gradient", nn.name = "w"},
        tensor<4x4xf32> {nn.role = "gradient", nn.name = "v"}, tensor<4x4xf32> {nn.role = "gradient", nn.name = "u"}, tensor<4xf32> {nn.role = "gradient", nn.name = "b"})
    attributes {dist.mesh = @mesh} {
  %mask = nn.square %m : tensor<6x4xf32>
  %e = nn.matmul %x, %w {dist.chunk = 0} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %l = nn.matmul %e, %u {dist.chunk = 0} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %dropped = nn.mul %l, %mask {dist.chunk = 0} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %h = nn.add %dropped, %b {dist.chunk = 0} : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %g = nn.matmul %h, %v {dist.chunk = 1} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %s = nn.add %h, %g {dist.chunk = 1} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %y = nn.matmul %s, %w {dist.chunk = 1} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<6x4xf32>) -> tensor<f32>
  %dy = nn.constant dense<1.0> : tensor<6x4xf32>
  %dw1 = nn.linear_grad_weight %s, %dy : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %ds = nn.matmul %dy, %w {transpose_rhs} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %dv = nn.linear_grad_weight %h, %ds : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %dg = nn.matmul %ds, %v {transpose_rhs} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %dh = nn.add %ds, %dg : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %db = nn.reduce_sum %dh {axes = array<i64: 0>} : (tensor<6x4xf32>) -> tensor<4xf32>
  %dl = nn.mul %dh, %mask : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %du = nn.linear_grad_weight %e, %dl : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %de = nn.matmul %dl, %u {transpose_rhs} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %dw0 = nn.linear_grad_weight %x, %de : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %dw = nn.add %dw0, %dw1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  nn.return %loss, %dw, %dv, %du, %db : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>
}

// CHECK: nn.step "gradient" @gradient(
// CHECK: dist.task "B" micro_batch 0 chunk 0
// CHECK: nn.reduce_sum %[[DH:[a-z0-9_]*]]
// CHECK-NEXT: nn.mul %[[DH]], %{{.*}}
// CHECK-NEXT: nn.linear_grad_weight

// CHECK: nn.step "gradient" @gradient_stage1(
// CHECK: dist.task "B" micro_batch 0 chunk 1
// CHECK: %[[SUM:.*]] = nn.add
// CHECK-NEXT: dist.stage_send from @stage1 to @stage0 tag {{.*}}(%[[SUM]]) : tensor<6x4xf32>
// CHECK-NOT: tensor<6x4xf32>
// CHECK: nn.return
