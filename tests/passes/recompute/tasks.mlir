// Each micro-batch computes again what it needs, when its own backward comes. What follows its forward pass at once keeps the
// last segment.
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1"' --recompute %s | FileCheck %s
// RUN: pdc-opt --pipeline='order="F0 B0 F1 B1"' --recompute %s | FileCheck %s --check-prefix=FOLLOWED

module attributes {dist.recompute = ["full"]} {
dist.mesh @mesh axes(["data" = 1])
nn.step "train" @train(%w0: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w0"}, %w1: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w1"},
      %w2: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w2"}, %x: tensor<64x8xf32> {nn.role = "input", nn.name = "x"},
      %rate: tensor<f32> {nn.role = "learning_rate", nn.name = "learning_rate"}, %seed: tensor<i64> {nn.role = "seed", nn.name = "seed"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<8x8xf32> {nn.role = "parameter", nn.name = "w0"},
        tensor<8x8xf32> {nn.role = "parameter", nn.name = "w1"}, tensor<8x8xf32> {nn.role = "parameter", nn.name = "w2"})
    attributes {dist.mesh = @mesh} {
  %one = nn.constant dense<1.0> : tensor<64x8xf32>
  %h0 = nn.linear %x, %w0 : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %a0 = nn.gelu %h0 : tensor<64x8xf32>
  %mask = nn.dropout_mask %seed {global_shape = array<i64: 64, 8>, rate = 0.5 : f64, start_dimensions = array<i64>, stream = 0 : i64} : (tensor<i64>) -> tensor<64x8xf32>
  %d0 = nn.mul %a0, %mask : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %h1 = nn.linear %d0, %w1 : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %a1 = nn.gelu %h1 : tensor<64x8xf32>
  %h2 = nn.linear %a1, %w2 : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %a2 = nn.gelu %h2 : tensor<64x8xf32>
  %loss = nn.reduce_sum %a2 {axes = array<i64: 0, 1>} : (tensor<64x8xf32>) -> tensor<f32>
  %dh2 = nn.gelu_grad %one, %h2 : tensor<64x8xf32>
  %da1 = nn.linear %dh2, %w2 {transpose_weight} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dw2 = nn.linear_grad_weight %a1, %dh2 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %dh1 = nn.gelu_grad %da1, %h1 : tensor<64x8xf32>
  %dd0 = nn.linear %dh1, %w1 {transpose_weight} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dw1 = nn.linear_grad_weight %d0, %dh1 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %da0 = nn.mul %dd0, %mask : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %dh0 = nn.gelu_grad %da0, %h0 : tensor<64x8xf32>
  %dw0 = nn.linear_grad_weight %x, %dh0 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %s2 = nn.mul %dw2, %rate : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %u2 = nn.sub %w2, %s2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s1 = nn.mul %dw1, %rate : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %u1 = nn.sub %w1, %s1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s0 = nn.mul %dw0, %rate : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %u0 = nn.sub %w0, %s0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.return %loss, %u0, %u1, %u2 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
}

// CHECK: dist.task "F" micro_batch 0
// CHECK-NOT: optimization_barrier
// CHECK: dist.task "B" micro_batch 0
// CHECK: dist.optimization_barrier
// CHECK-NEXT: nn.{{linear|gelu|slice}}
// CHECK: dist.task "B" micro_batch 1
// CHECK: dist.optimization_barrier
// CHECK: dist.task "U"
// CHECK-NOT: optimization_barrier

// FOLLOWED: dist.task "B" micro_batch 0
// FOLLOWED-NOT: optimization_barrier
// FOLLOWED: nn.gelu_grad
// FOLLOWED: dist.optimization_barrier
// FOLLOWED: dist.task "F" micro_batch 1
// FOLLOWED-NOT: optimization_barrier
// FOLLOWED: dist.task "B" micro_batch 1
// FOLLOWED-NOT: optimization_barrier
// FOLLOWED: nn.gelu_grad
// FOLLOWED: dist.optimization_barrier
