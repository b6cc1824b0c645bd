// RUN: pdc-opt %s --specialize --autodiff --verify-step | FileCheck %s

// Training moves the running statistics and draws dropout from the step's seed; evaluation does neither.
// CHECK: nn.step "train" @train(
// CHECK-SAME: %mean: tensor<3xf32> {nn.init = #nn.init<zeros>, nn.role = "state"}
// CHECK-SAME: %var: tensor<3xf32> {nn.init = #nn.init<ones>, nn.role = "state"}
// CHECK-SAME: %seed: tensor<i64> {nn.role = "seed"})
// CHECK-SAME: mean: tensor<3xf32> {nn.role = "state"}, var: tensor<3xf32> {nn.role = "state"})
// CHECK: nn.dropout_mask %seed
// CHECK: nn.step "gradient" @gradient(
// CHECK-NOT: "state"
// CHECK: nn.dropout_mask
// CHECK: nn.step "evaluate" @evaluate(
// CHECK-SAME: %mean: tensor<3xf32> {{.*}} %var: tensor<3xf32>
// CHECK-NOT: seed
// CHECK-SAME: -> (loss: tensor<f32> {nn.role = "loss"})
// CHECK-NOT: nn.dropout_mask
// CHECK: nn.return
// Without results that are not scalars, there is nothing to infer.
// CHECK-NOT: nn.step
nn.model @m(%x: tensor<4x3x2x2xf32>) -> tensor<f32> {
  %scale = nn.param "scale" init(ones) : tensor<3xf32>
  %bias = nn.param "bias" init(zeros) : tensor<3xf32>
  %mean = nn.state "mean" init(zeros) : tensor<3xf32>
  %var = nn.state "var" init(ones) : tensor<3xf32>
  %y = nn.batch_norm %x, %scale, %bias, %mean, %var : (tensor<4x3x2x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3x2x2xf32>
  %d = nn.dropout %y {rate = 0.5 : f64} : (tensor<4x3x2x2xf32>) -> tensor<4x3x2x2xf32>
  %s = nn.square %d : tensor<4x3x2x2xf32>
  %loss = nn.reduce_sum %s {axes = array<i64: 0, 1, 2, 3>} : (tensor<4x3x2x2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
