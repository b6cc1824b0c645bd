// Shapes and reductions print as they are written.
// RUN: pdc-opt %s | FileCheck %s
// RUN: pdc-opt %s | pdc-opt | FileCheck %s

// CHECK-LABEL: nn.block @shapes
nn.block @shapes(%x: tensor<?x6x4xf32>) -> tensor<?x24xf32> {
  // CHECK: nn.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<?x6x4xf32>) -> tensor<?x4x6xf32>
  %0 = nn.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<?x6x4xf32>) -> tensor<?x4x6xf32>
  // CHECK: nn.slice %{{.*}} {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 2, 3>, strides = array<i64: 1, 1, 2>} : (tensor<?x4x6xf32>) -> tensor<?x2x3xf32>
  %1 = nn.slice %0 {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 2, 3>, strides = array<i64: 1, 1, 2>} : (tensor<?x4x6xf32>) -> tensor<?x2x3xf32>
  // CHECK: nn.slice %{{.*}} {offsets = array<i64: 0, 0, 1>, sizes = array<i64: -1, -1, 2>} : (tensor<?x2x3xf32>) -> tensor<?x2x2xf32>
  %2 = nn.slice %1 {offsets = array<i64: 0, 0, 1>, sizes = array<i64: -1, -1, 2>} : (tensor<?x2x3xf32>) -> tensor<?x2x2xf32>
  // CHECK: nn.pad %{{.*}} {high = array<i64: 0, 1, 0>, low = array<i64: 0, 1, 2>, value = 1.000000e+00 : f64} : (tensor<?x2x2xf32>) -> tensor<?x4x4xf32>
  %3 = nn.pad %2 {low = array<i64: 0, 1, 2>, high = array<i64: 0, 1, 0>, value = 1.0 : f64} : (tensor<?x2x2xf32>) -> tensor<?x4x4xf32>
  // CHECK: nn.concat %{{.*}}, %x {axis = 1 : i64} : (tensor<?x4x4xf32>, tensor<?x6x4xf32>) -> tensor<?x10x4xf32>
  %4 = nn.concat %3, %x {axis = 1 : i64} : (tensor<?x4x4xf32>, tensor<?x6x4xf32>) -> tensor<?x10x4xf32>
  // CHECK: nn.split %{{.*}} {axis = 1 : i64, sizes = array<i64: 6, 4>} : (tensor<?x10x4xf32>) -> (tensor<?x6x4xf32>, tensor<?x4x4xf32>)
  %5:2 = nn.split %4 {axis = 1 : i64, sizes = array<i64: 6, 4>} : (tensor<?x10x4xf32>) -> (tensor<?x6x4xf32>, tensor<?x4x4xf32>)
  // CHECK: nn.reshape %{{.*}} : tensor<?x6x4xf32> to tensor<?x24xf32>
  %6 = nn.reshape %5#0 : tensor<?x6x4xf32> to tensor<?x24xf32>
  %row = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  // CHECK: nn.broadcast %{{.*}} : tensor<2x1xf32> to tensor<3x2x5xf32>
  %7 = nn.broadcast %row : tensor<2x1xf32> to tensor<3x2x5xf32>
  nn.return %6 : tensor<?x24xf32>
}

// CHECK-LABEL: nn.block @reductions
nn.block @reductions(%x: tensor<?x6x4xf32>, %image: tensor<?x3x8x8xf32>) -> tensor<?x3xf32> {
  // CHECK: nn.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<?x6x4xf32>) -> tensor<6xf32>
  %0 = nn.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<?x6x4xf32>) -> tensor<6xf32>
  // CHECK: nn.reduce_max %x {axes = array<i64: 2>, keep_dims} : (tensor<?x6x4xf32>) -> tensor<?x6x1xf32>
  %1 = nn.reduce_max %x {axes = array<i64: 2>, keep_dims} : (tensor<?x6x4xf32>) -> tensor<?x6x1xf32>
  // CHECK: nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<?x6x4xf32>) -> tensor<?x4xf32>
  %2 = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<?x6x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.global_avg_pool2d %image : (tensor<?x3x8x8xf32>) -> tensor<?x3xf32>
  %3 = nn.global_avg_pool2d %image : (tensor<?x3x8x8xf32>) -> tensor<?x3xf32>
  nn.return %3 : tensor<?x3xf32>
}
