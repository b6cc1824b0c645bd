// Products with parameters are kept, what is computed of them is not; a mask is made as it was.
// RUN: pdc-opt --recompute %s | FileCheck %s

module attributes {dist.recompute = ["selective"]} {
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

// CHECK: %[[H0:.*]] = nn.linear %x, %w0
// CHECK: %[[MASK:.*]] = nn.dropout_mask
// CHECK: %[[H1:.*]] = nn.linear %{{.*}}, %w1
// CHECK: nn.reduce_sum
// No gradient that lies in memory is there yet.
// CHECK: %[[B1:.*]] = dist.optimization_barrier %[[H1]] : tensor<64x8xf32>
// CHECK-NEXT: %[[A1:.*]] = nn.gelu %[[B1]]
// CHECK-NEXT: nn.linear_grad_weight %[[A1]],
// CHECK: nn.gelu_grad %{{.*}}, %[[B1]]
// CHECK: %[[B0:.*]]:2 = dist.optimization_barrier %[[H0]], %{{.*}}
// CHECK-NEXT: %[[A0:.*]] = nn.gelu %[[B0]]#0
// CHECK-NEXT: %[[D0:.*]] = nn.mul %[[A0]], %[[MASK]]
// CHECK-NEXT: nn.linear_grad_weight %[[D0]],
// CHECK-NOT: nn.linear %{{[^ ]*}}, %w0 :
// CHECK: nn.return
