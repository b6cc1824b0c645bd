// RUN: pdc-opt %s --autodiff="modes=train optimizer=adamw hyperparameters=weight_decay=0.125" --verify-step | FileCheck %s

// Biases and parameters with no_decay do not decay; what the model declares decides what a bias is.
// CHECK: %[[WD:.*]] = nn.constant dense<1.250000e-01>
// CHECK-NOT: nn.mul %bias, %[[WD]]
// CHECK-NOT: nn.mul %free, %[[WD]]
// CHECK-NOT: nn.mul %parted, %[[WD]]
// CHECK: nn.mul %weight, %[[WD]]
// CHECK-NOT: nn.mul %bias, %[[WD]]
// CHECK-NOT: nn.mul %free, %[[WD]]
// CHECK-NOT: nn.mul %parted, %[[WD]]
// CHECK: nn.return
nn.model @m(%x: tensor<4x3xf32>) -> tensor<f32> {
  %weight = nn.param "weight" init(ones) : tensor<1x3xf32>
  %free = nn.param "free" init(ones) {no_decay} : tensor<1x3xf32>
  %bias = nn.param "bias" init(ones) : tensor<3xf32>
  %parted = nn.param "parted" init(ones) {declared_shape = array<i64: 3>} : tensor<3x1xf32>
  %flat = nn.reshape %parted : tensor<3x1xf32> to tensor<3xf32>
  %a = nn.mul %x, %weight : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %b = nn.mul %a, %free : (tensor<4x3xf32>, tensor<1x3xf32>) -> tensor<4x3xf32>
  %c = nn.add %b, %bias : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %d = nn.add %c, %flat : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %d {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
