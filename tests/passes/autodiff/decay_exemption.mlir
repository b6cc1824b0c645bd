// RUN: pdc-opt %s --autodiff="modes=train optimizer=adamw hyperparameters=weight_decay=0.125" --verify-step | FileCheck %s

// Biases and parameters with no_decay do not decay.
// CHECK: %[[WD:.*]] = nn.constant dense<1.250000e-01>
// CHECK-NOT: nn.mul %bias, %[[WD]]
// CHECK-NOT: nn.mul %free, %[[WD]]
// CHECK: nn.mul %weight, %[[WD]]
// CHECK-NOT: nn.mul %bias, %[[WD]]
// CHECK-NOT: nn.mul %free, %[[WD]]
// CHECK: nn.return
nn.model @m(%x: tensor<4x3xf32>) -> tensor<f32> {
  %weight = nn.param "weight" init(ones) : tensor<1x3xf32>
  %free = nn.param "free" init(ones) {no_decay} : tensor<1x3xf32>
  %bias = nn.param "bias" init(ones) : tensor<3xf32>
  %a = nn.mul %x, %weight : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %b = nn.mul %a, %free : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %c = nn.add %b, %bias : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %c {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
