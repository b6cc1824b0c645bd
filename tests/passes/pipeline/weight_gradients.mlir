// Two products read the value at the cut, one on each side. The gradient of the weight before the cut is computed with it, where
// the value is, too, and not with the other product's: streams could not send it, and others would have to.
// RUN: pdc-opt --pipeline='order="F0 B0 U0;F0 B0 U0"' %s | FileCheck %s

dist.mesh @mesh axes(["data" = 1])
nn.step "train" @train(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x4xf32> {nn.role = "parameter", nn.name = "v"},
      %x: tensor<6x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, tensor<4x4xf32> {nn.role = "parameter", nn.name = "v"})
    attributes {dist.mesh = @mesh} {
  %a = nn.square %x : tensor<6x4xf32>
  %e = nn.matmul %a, %w {dist.chunk = 0} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %h = nn.tanh %e {dist.chunk = 0} : tensor<6x4xf32>
  %q = nn.matmul %h, %w {dist.chunk = 0} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %k = nn.matmul %h, %v {dist.chunk = 1} : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  %y = nn.mul %q, %k {dist.chunk = 1} : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<6x4xf32>) -> tensor<f32>
  // CHECK: nn.step "train" @train(%w
  // CHECK: dist.task "B" micro_batch 0 chunk 0
  // CHECK: nn.linear_grad_weight
  // CHECK: nn.step "train" @train_stage1(%v
  // CHECK: dist.task "B" micro_batch 0 chunk 1
  // CHECK: nn.linear_grad_weight
  // CHECK-NOT: nn.linear_grad_weight
  %dq = nn.square %k : tensor<6x4xf32>
  %dk = nn.square %q : tensor<6x4xf32>
  %dw = nn.linear_grad_weight %h, %dq : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %dv = nn.linear_grad_weight %h, %dk : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %newW = nn.sub %w, %dw : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %newV = nn.sub %v, %dv : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  nn.return %loss, %newW, %newV : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
}
