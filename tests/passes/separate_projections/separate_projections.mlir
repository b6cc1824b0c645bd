// RUN: pdc-opt %s -separate-projections -split-input-file | FileCheck %s

// Queries, keys and values: one product, with a dimension of three.
// CHECK-LABEL: nn.model @qkv
// CHECK: %[[W:.*]] = nn.param "qkv.weight" init(xavier) dims("model", "", "qkv") {declared_shape = array<i64: 8, 12>} : tensor<8x3x4xf32>
// CHECK: %[[B:.*]] = nn.param "qkv.bias" init(zeros) dims("", "qkv") {declared_shape = array<i64: 12>} : tensor<3x4xf32>
// CHECK: %[[Y:.*]] = nn.linear %x, %[[W]], %[[B]] : (tensor<?x5x8xf32>, tensor<8x3x4xf32>, tensor<3x4xf32>) -> tensor<?x5x3x4xf32>
// CHECK: %[[P:.*]]:3 = nn.split %[[Y]] {axis = 2 : i64, sizes = array<i64: 1, 1, 1>}
// CHECK: %[[Q:.*]] = nn.reshape %[[P]]#0 : tensor<?x5x1x4xf32> to tensor<?x5x4xf32>
// CHECK: %[[K:.*]] = nn.reshape %[[P]]#1
// CHECK: %[[V:.*]] = nn.reshape %[[P]]#2
// CHECK: nn.mul %[[Q]], %[[K]]
// CHECK: nn.mul %{{.*}}, %[[V]]
nn.model @qkv(%x: tensor<?x5x8xf32>) -> tensor<f32> {
  %w = nn.param "qkv.weight" init(xavier) dims("model", "qkv") : tensor<8x12xf32>
  %b = nn.param "qkv.bias" init(zeros) dims("qkv") : tensor<12xf32>
  %y = nn.linear %x, %w, %b : (tensor<?x5x8xf32>, tensor<8x12xf32>, tensor<12xf32>) -> tensor<?x5x12xf32>
  %q, %k, %v = nn.split %y {axis = 2 : i64, sizes = array<i64: 4, 4, 4>}
      : (tensor<?x5x12xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x4xf32>, tensor<?x5x4xf32>)
  %0 = nn.mul %q, %k : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  %1 = nn.mul %0, %v : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<?x5x4xf32>
  %loss = nn.reduce_sum %1 {axes = array<i64: 0, 1, 2>} : (tensor<?x5x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// The halves of a gated unit, cut out by slices, in any order; a weight that is stored transposed; no names and no bias.
// CHECK-LABEL: nn.model @gated
// CHECK: %[[W:.*]] = nn.param "w" init(normal(2.000000e-02)) {declared_shape = array<i64: 12, 8>, no_decay} : tensor<2x6x8xf32>
// CHECK: %[[Y:.*]] = nn.linear %x, %[[W]] {transpose_weight} : (tensor<3x8xf32>, tensor<2x6x8xf32>) -> tensor<3x2x6xf32>
// CHECK: %[[S1:.*]] = nn.slice %[[Y]] {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 1, -1>} : (tensor<3x2x6xf32>) -> tensor<3x1x6xf32>
// CHECK: %[[UP:.*]] = nn.reshape %[[S1]] : tensor<3x1x6xf32> to tensor<3x6xf32>
// CHECK: %[[S0:.*]] = nn.slice %[[Y]] {offsets = array<i64: 0, 0, 0>, sizes = array<i64: -1, 1, -1>}
// CHECK: %[[GATE:.*]] = nn.reshape %[[S0]]
// CHECK: nn.silu %[[GATE]]
// CHECK: nn.mul %{{.*}}, %[[UP]]
nn.model @gated(%x: tensor<3x8xf32>) -> tensor<f32> {
  %w = nn.param "w" init(normal(0.02)) {no_decay} : tensor<12x8xf32>
  %y = nn.linear %x, %w {transpose_weight} : (tensor<3x8xf32>, tensor<12x8xf32>) -> tensor<3x12xf32>
  %up = nn.slice %y {offsets = array<i64: 0, 6>, sizes = array<i64: -1, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %gate = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: 3, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %a = nn.silu %gate : tensor<3x6xf32>
  %g = nn.mul %a, %up : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
  %loss = nn.reduce_sum %g {axes = array<i64: 0, 1>} : (tensor<3x6xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A part that is taken twice; the product need not be of a model's last step.
// CHECK-LABEL: nn.block @twice
// CHECK: nn.linear %x, %{{.*}} -> tensor<3x2x6xf32>
// CHECK-COUNT-3: nn.slice %{{.*}} -> tensor<3x1x6xf32>
nn.block @twice(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
  %w = nn.param "w" init(normal(0.02)) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %b = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %c = nn.slice %y {offsets = array<i64: 0, 6>, sizes = array<i64: -1, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %d = nn.mul %a, %b : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
  %e = nn.mul %d, %c : (tensor<3x6xf32>, tensor<3x6xf32>) -> tensor<3x6xf32>
  nn.return %e : tensor<3x6xf32>
}
