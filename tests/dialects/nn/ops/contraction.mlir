// Library ops print as they are written, with the batch unbound and bound.
// RUN: pdc-opt %s | pdc-opt | FileCheck %s

// CHECK-LABEL: @linear
func.func @linear(%x: tensor<?x16x8xf32>, %w: tensor<8x4xf32>, %wt: tensor<4x8xf32>, %b: tensor<4xf32>,
                  %dy: tensor<?x16x4xf32>) {
  // CHECK: nn.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x16x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x16x4xf32>
  %0 = nn.linear %x, %w, %b : (tensor<?x16x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x16x4xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} {transpose_weight} : (tensor<?x16x8xf32>, tensor<4x8xf32>) -> tensor<?x16x4xf32>
  %1 = nn.linear %x, %wt {transpose_weight} : (tensor<?x16x8xf32>, tensor<4x8xf32>) -> tensor<?x16x4xf32>
  // CHECK: nn.linear_grad_weight %{{.*}}, %{{.*}} : (tensor<?x16x8xf32>, tensor<?x16x4xf32>) -> tensor<8x4xf32>
  %2 = nn.linear_grad_weight %x, %dy : (tensor<?x16x8xf32>, tensor<?x16x4xf32>) -> tensor<8x4xf32>
  // CHECK: nn.linear_grad_weight %{{.*}}, %{{.*}} {transpose_weight} : {{.*}} -> tensor<4x8xf32>
  %3 = nn.linear_grad_weight %x, %dy {transpose_weight} : (tensor<?x16x8xf32>, tensor<?x16x4xf32>) -> tensor<4x8xf32>
  return
}

// Several inner or outer dimensions; one is what is not written.
// CHECK-LABEL: @linear_of_several_dimensions
func.func @linear_of_several_dimensions(%x: tensor<?x16x8xf32>, %w: tensor<8x3x4xf32>, %wt: tensor<3x4x8xf32>,
                                        %b: tensor<3x4xf32>, %dy: tensor<?x16x3x4xf32>) {
  // CHECK: nn.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x16x8xf32>, tensor<8x3x4xf32>, tensor<3x4xf32>) -> tensor<?x16x3x4xf32>
  %0 = nn.linear %x, %w, %b {inner_dims = 1 : i64} : (tensor<?x16x8xf32>, tensor<8x3x4xf32>, tensor<3x4xf32>) -> tensor<?x16x3x4xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} {transpose_weight} : (tensor<?x16x8xf32>, tensor<3x4x8xf32>) -> tensor<?x16x3x4xf32>
  %1 = nn.linear %x, %wt {transpose_weight} : (tensor<?x16x8xf32>, tensor<3x4x8xf32>) -> tensor<?x16x3x4xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} {inner_dims = 2 : i64, transpose_weight} : (tensor<?x16x3x4xf32>, tensor<8x3x4xf32>) -> tensor<?x16x8xf32>
  %2 = nn.linear %dy, %w {inner_dims = 2 : i64, transpose_weight} : (tensor<?x16x3x4xf32>, tensor<8x3x4xf32>) -> tensor<?x16x8xf32>
  // CHECK: nn.linear %{{.*}}, %{{.*}} {inner_dims = 2 : i64} : (tensor<?x16x3x4xf32>, tensor<3x4x8xf32>) -> tensor<?x16x8xf32>
  %3 = nn.linear %dy, %wt {inner_dims = 2 : i64} : (tensor<?x16x3x4xf32>, tensor<3x4x8xf32>) -> tensor<?x16x8xf32>
  // CHECK: nn.linear_grad_weight %{{.*}}, %{{.*}} : (tensor<?x16x8xf32>, tensor<?x16x3x4xf32>) -> tensor<8x3x4xf32>
  %4 = nn.linear_grad_weight %x, %dy : (tensor<?x16x8xf32>, tensor<?x16x3x4xf32>) -> tensor<8x3x4xf32>
  // CHECK: nn.linear_grad_weight %{{.*}}, %{{.*}} {transpose_weight} : {{.*}} -> tensor<3x4x8xf32>
  %5 = nn.linear_grad_weight %x, %dy {transpose_weight} : (tensor<?x16x8xf32>, tensor<?x16x3x4xf32>) -> tensor<3x4x8xf32>
  // CHECK: nn.linear_grad_weight %{{.*}}, %{{.*}} {inner_dims = 2 : i64} : (tensor<?x16x3x4xf32>, tensor<?x16x8xf32>) -> tensor<3x4x8xf32>
  %6 = nn.linear_grad_weight %dy, %x {inner_dims = 2 : i64} : (tensor<?x16x3x4xf32>, tensor<?x16x8xf32>) -> tensor<3x4x8xf32>
  return
}

// CHECK-LABEL: @matmul
func.func @matmul(%a: tensor<2x3xbf16>, %b: tensor<3x5xbf16>, %q: tensor<?x4x7x8xf32>, %k: tensor<?x4x6x8xf32>) {
  // CHECK: nn.matmul %{{.*}}, %{{.*}} : (tensor<2x3xbf16>, tensor<3x5xbf16>) -> tensor<2x5xbf16>
  %0 = nn.matmul %a, %b : (tensor<2x3xbf16>, tensor<3x5xbf16>) -> tensor<2x5xbf16>
  // CHECK: nn.matmul %{{.*}}, %{{.*}} {transpose_lhs, transpose_rhs} : (tensor<3x5xbf16>, tensor<2x3xbf16>) -> tensor<5x2xbf16>
  %1 = nn.matmul %b, %a {transpose_lhs, transpose_rhs} : (tensor<3x5xbf16>, tensor<2x3xbf16>) -> tensor<5x2xbf16>
  // CHECK: nn.batch_matmul %{{.*}}, %{{.*}} {transpose_rhs} : (tensor<?x4x7x8xf32>, tensor<?x4x6x8xf32>) -> tensor<?x4x7x6xf32>
  %2 = nn.batch_matmul %q, %k {transpose_rhs} : (tensor<?x4x7x8xf32>, tensor<?x4x6x8xf32>) -> tensor<?x4x7x6xf32>
  return
}

// CHECK-LABEL: @convolution
func.func @convolution(%x: tensor<?x4x9x9xf32>, %w: tensor<6x2x3x3xf32>, %b: tensor<6xf32>, %dy: tensor<?x6x4x5xf32>) {
  // CHECK: nn.conv2d %{{.*}} {dilation = array<i64: 1, 2>, groups = 2 : i64, padding = array<i64: 0, 2, 1, 2>, stride = array<i64: 2, 2>}
  %0 = nn.conv2d %x, %w, %b {stride = array<i64: 2, 2>, padding = array<i64: 0, 2, 1, 2>, dilation = array<i64: 1, 2>,
                             groups = 2 : i64}
      : (tensor<?x4x9x9xf32>, tensor<6x2x3x3xf32>, tensor<6xf32>) -> tensor<?x6x4x5xf32>
  // CHECK: nn.conv2d_grad_input
  %1 = nn.conv2d_grad_input %dy, %w {stride = array<i64: 2, 2>, padding = array<i64: 0, 2, 1, 2>,
                                     dilation = array<i64: 1, 2>, groups = 2 : i64}
      : (tensor<?x6x4x5xf32>, tensor<6x2x3x3xf32>) -> tensor<?x4x9x9xf32>
  // CHECK: nn.conv2d_grad_weight
  %2 = nn.conv2d_grad_weight %dy, %x {stride = array<i64: 2, 2>, padding = array<i64: 0, 2, 1, 2>,
                                      dilation = array<i64: 1, 2>, groups = 2 : i64}
      : (tensor<?x6x4x5xf32>, tensor<?x4x9x9xf32>) -> tensor<6x2x3x3xf32>
  return
}

// CHECK-LABEL: @pooling
func.func @pooling(%x: tensor<?x4x9x9xf32>, %dy: tensor<?x4x5x5xf32>) {
  // CHECK: nn.max_pool2d %{{.*}} {kernel = array<i64: 3, 3>, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 2>}
  %0 = nn.max_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x9x9xf32>) -> tensor<?x4x5x5xf32>
  // CHECK: nn.max_pool2d_grad
  %1 = nn.max_pool2d_grad %dy, %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x4x5x5xf32>, tensor<?x4x9x9xf32>) -> tensor<?x4x9x9xf32>
  // CHECK: nn.avg_pool2d %{{.*}} {count_include_pad, kernel
  %2 = nn.avg_pool2d %x {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>,
                         count_include_pad} : (tensor<?x4x9x9xf32>) -> tensor<?x4x5x5xf32>
  // CHECK: nn.avg_pool2d_grad
  %3 = nn.avg_pool2d_grad %dy {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>,
                               count_include_pad} : (tensor<?x4x5x5xf32>) -> tensor<?x4x9x9xf32>
  return
}

// CHECK-LABEL: @embedding
func.func @embedding(%t: tensor<100x8xf32>, %ids: tensor<?x6xi32>, %dy: tensor<?x6x8xf32>) {
  // CHECK: nn.embedding %{{.*}}, %{{.*}} : (tensor<100x8xf32>, tensor<?x6xi32>) -> tensor<?x6x8xf32>
  %0 = nn.embedding %t, %ids : (tensor<100x8xf32>, tensor<?x6xi32>) -> tensor<?x6x8xf32>
  // CHECK: nn.embedding_grad %{{.*}}, %{{.*}} : (tensor<?x6x8xf32>, tensor<?x6xi32>) -> tensor<100x8xf32>
  %1 = nn.embedding_grad %dy, %ids : (tensor<?x6x8xf32>, tensor<?x6xi32>) -> tensor<100x8xf32>
  return
}
