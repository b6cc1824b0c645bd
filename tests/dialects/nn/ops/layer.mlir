// Layers and losses print as they are written, with the batch unbound.
// RUN: pdc-opt %s | pdc-opt | FileCheck %s

// CHECK-LABEL: @normalization
func.func @normalization(%x: tensor<?x16x8xf32>, %g: tensor<8xf32>, %h: tensor<?x16x8xbf16>, %image: tensor<?x8x4x4xf32>) {
  // CHECK: nn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x16x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x16x8xf32>
  %0 = nn.layer_norm %x, %g, %g : (tensor<?x16x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x16x8xf32>
  // Scale and bias stay in f32.
  // CHECK: nn.layer_norm %{{.*}} {epsilon = 1.000000e-03 : f64} : (tensor<?x16x8xbf16>, tensor<8xf32>) -> tensor<?x16x8xbf16>
  %1 = nn.layer_norm %h, %g {epsilon = 1.0e-3 : f64} : (tensor<?x16x8xbf16>, tensor<8xf32>) -> tensor<?x16x8xbf16>
  // CHECK: nn.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : {{.*}} -> (tensor<?x16x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %2:3 = nn.layer_norm_grad %0, %x, %g {epsilon = 1.0e-5 : f64}
      : (tensor<?x16x8xf32>, tensor<?x16x8xf32>, tensor<8xf32>) -> (tensor<?x16x8xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: nn.rms_norm
  %3 = nn.rms_norm %x, %g : (tensor<?x16x8xf32>, tensor<8xf32>) -> tensor<?x16x8xf32>
  // CHECK: nn.rms_norm_grad
  %4:2 = nn.rms_norm_grad %3, %x, %g {epsilon = 1.0e-6 : f64}
      : (tensor<?x16x8xf32>, tensor<?x16x8xf32>, tensor<8xf32>) -> (tensor<?x16x8xf32>, tensor<8xf32>)
  // CHECK: nn.batch_norm %{{.*}} {inference, momentum = 5.000000e-02 : f64}
  %5 = nn.batch_norm %image, %g, %g, %g, %g {momentum = 0.05 : f64, inference}
      : (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  return
}

// CHECK-LABEL: @attention
func.func @attention(%q: tensor<?x6x4x8xf32>, %k: tensor<?x10x4x8xf32>, %v: tensor<?x10x4x5xf32>, %s: tensor<?x4x6x10xf32>) {
  // CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} {causal} : {{.*}} -> tensor<?x6x4x5xf32>
  %0 = nn.attention %q, %k, %v {causal} : (tensor<?x6x4x8xf32>, tensor<?x10x4x8xf32>, tensor<?x10x4x5xf32>) -> tensor<?x6x4x5xf32>
  // CHECK: nn.softmax %{{.*}} {causal, scale = 5.000000e-01 : f64}
  %1 = nn.softmax %s {scale = 0.5 : f64, causal} : (tensor<?x4x6x10xf32>) -> tensor<?x4x6x10xf32>
  // CHECK: nn.softmax_grad
  %2 = nn.softmax_grad %s, %1 {scale = 0.5 : f64} : (tensor<?x4x6x10xf32>, tensor<?x4x6x10xf32>) -> tensor<?x4x6x10xf32>
  // CHECK: nn.dropout %{{.*}} {rate = 1.000000e-01 : f64, stream = 3 : i64}
  %3 = nn.dropout %s {rate = 0.1 : f64, stream = 3 : i64} : (tensor<?x4x6x10xf32>) -> tensor<?x4x6x10xf32>
  // CHECK: nn.step_seed : tensor<i64>
  %4 = nn.step_seed : tensor<i64>
  return
}

// CHECK-LABEL: @losses
func.func @losses(%x: tensor<?x6x10xbf16>, %y: tensor<?x6xi32>, %g: tensor<?x6xf32>, %t: tensor<?x6x10xf32>) {
  // CHECK: nn.cross_entropy %{{.*}}, %{{.*}} {ignore_index = -1 : i64} : (tensor<?x6x10xbf16>, tensor<?x6xi32>) -> tensor<f32>
  %0 = nn.cross_entropy %x, %y {ignore_index = -1 : i64} : (tensor<?x6x10xbf16>, tensor<?x6xi32>) -> tensor<f32>
  // CHECK: nn.cross_entropy_rows {{.*}} -> tensor<?x6xf32>
  %1 = nn.cross_entropy_rows %x, %y {ignore_index = -1 : i64} : (tensor<?x6x10xbf16>, tensor<?x6xi32>) -> tensor<?x6xf32>
  // CHECK: nn.cross_entropy_rows_grad {{.*}} -> tensor<?x6x10xbf16>
  %2 = nn.cross_entropy_rows_grad %g, %x, %y {ignore_index = -1 : i64}
      : (tensor<?x6xf32>, tensor<?x6x10xbf16>, tensor<?x6xi32>) -> tensor<?x6x10xbf16>
  // CHECK: nn.mse
  %3 = nn.mse %t, %t : (tensor<?x6x10xf32>, tensor<?x6x10xf32>) -> tensor<f32>
  // CHECK: nn.accuracy
  %4 = nn.accuracy %x, %y : (tensor<?x6x10xbf16>, tensor<?x6xi32>) -> tensor<f32>
  return
}
