// Elementwise operations print as they are written.
// RUN: pdc-opt %s | FileCheck %s
// RUN: pdc-opt %s | pdc-opt | FileCheck %s

// CHECK-LABEL: nn.block @unary
nn.block @unary(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: nn.relu %x : tensor<?x4xf32>
  %0 = nn.relu %x : tensor<?x4xf32>
  // CHECK: nn.silu
  %1 = nn.silu %0 : tensor<?x4xf32>
  // CHECK: nn.tanh
  %2 = nn.tanh %1 : tensor<?x4xf32>
  // CHECK: nn.sigmoid
  %3 = nn.sigmoid %2 : tensor<?x4xf32>
  // CHECK: nn.exp
  %4 = nn.exp %3 : tensor<?x4xf32>
  // CHECK: nn.log
  %5 = nn.log %4 : tensor<?x4xf32>
  // CHECK: nn.sqrt
  %6 = nn.sqrt %5 : tensor<?x4xf32>
  // CHECK: nn.rsqrt
  %7 = nn.rsqrt %6 : tensor<?x4xf32>
  // CHECK: nn.neg
  %8 = nn.neg %7 : tensor<?x4xf32>
  // CHECK: nn.abs
  %9 = nn.abs %8 : tensor<?x4xf32>
  // CHECK: nn.square
  %10 = nn.square %9 : tensor<?x4xf32>
  // CHECK: nn.gelu %{{.*}} : tensor<?x4xf32>
  %11 = nn.gelu %10 : tensor<?x4xf32>
  // CHECK: nn.gelu %{{.*}} {tanh} : tensor<?x4xf32>
  %12 = nn.gelu %11 {tanh} : tensor<?x4xf32>
  nn.return %12 : tensor<?x4xf32>
}

// CHECK-LABEL: nn.block @gradients
nn.block @gradients(%g: tensor<2x4xbf16>, %x: tensor<2x4xbf16>) -> tensor<2x4xbf16> {
  // CHECK: nn.relu_grad %g, %x : tensor<2x4xbf16>
  %0 = nn.relu_grad %g, %x : tensor<2x4xbf16>
  // CHECK: nn.silu_grad
  %1 = nn.silu_grad %0, %x : tensor<2x4xbf16>
  // CHECK: nn.tanh_grad
  %2 = nn.tanh_grad %1, %x : tensor<2x4xbf16>
  // CHECK: nn.sigmoid_grad
  %3 = nn.sigmoid_grad %2, %x : tensor<2x4xbf16>
  // CHECK: nn.gelu_grad %{{.*}}, %x {tanh} : tensor<2x4xbf16>
  %4 = nn.gelu_grad %3, %x {tanh} : tensor<2x4xbf16>
  nn.return %4 : tensor<2x4xbf16>
}

// CHECK-LABEL: nn.block @binary
nn.block @binary(%x: tensor<?x4xf32>, %y: tensor<4xf32>, %n: tensor<?xi32>) -> tensor<?x4xf32> {
  // CHECK: nn.add %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %0 = nn.add %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.sub %y, %{{.*}} : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = nn.sub %y, %0 : (tensor<4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.mul
  %2 = nn.mul %1, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.div
  %3 = nn.div %2, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.max
  %4 = nn.max %3, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.min
  %5 = nn.min %4, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.constant dense<7> : tensor<i32>
  %seven = nn.constant dense<7> : tensor<i32>
  // CHECK: nn.compare lt %n, %{{.*}} : (tensor<?xi32>, tensor<i32>) -> tensor<?xi1>
  %c = nn.compare lt %n, %seven : (tensor<?xi32>, tensor<i32>) -> tensor<?xi1>
  %cc = nn.reshape %c : tensor<?xi1> to tensor<?x1xi1>
  // CHECK: nn.select %{{.*}} : (tensor<?x1xi1>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %6 = nn.select %cc, %5, %y : (tensor<?x1xi1>, tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.cast %{{.*}} : tensor<?x4xf32> to tensor<?x4xbf16>
  %7 = nn.cast %6 : tensor<?x4xf32> to tensor<?x4xbf16>
  %8 = nn.cast %7 : tensor<?x4xbf16> to tensor<?x4xf32>
  nn.return %8 : tensor<?x4xf32>
}

// CHECK-LABEL: nn.block @sources
nn.block @sources(%seed: tensor<i64>, %start: tensor<i64>) -> tensor<2x4xf32> {
  // CHECK: nn.iota 1 : tensor<2x4xi32>
  %0 = nn.iota 1 : tensor<2x4xi32>
  // CHECK: nn.dropout_mask %seed, %start {global_shape = array<i64: 8, 4>, rate = 1.000000e-01 : f64, start_dimensions = array<i64: 0>, stream = 3 : i64} : (tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
  %1 = nn.dropout_mask %seed, %start {rate = 0.1 : f64, stream = 3 : i64, global_shape = array<i64: 8, 4>, start_dimensions = array<i64: 0>} : (tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
  nn.return %1 : tensor<2x4xf32>
}
