// RUN: pdc-opt %s --autodiff --verify-step | FileCheck %s
// RUN: pdc-opt %s --autodiff=modes=infer --verify-step | FileCheck %s --check-prefix=INFER

// CHECK: module attributes {nn.model_name = "m"}

// Parameters come first, then inputs and what else the step needs; initializers are distributions.
// CHECK: nn.step "train" @train(
// CHECK-SAME: %w: tensor<8x3xf32> {nn.dims = ["in", "out"], nn.init = #nn.init<normal(0.000000e+00, 5.000000e-01)>, nn.role = "parameter"}
// CHECK-SAME: %b: tensor<3xf32> {nn.init = #nn.init<zeros>, nn.role = "parameter"}
// CHECK-SAME: %x: tensor<4x8xf32> {nn.dims = ["batch", "features"], nn.role = "input"}
// CHECK-SAME: %label: tensor<4xi32> {nn.role = "input"}
// CHECK-SAME: %learning_rate: tensor<f32> {nn.role = "learning_rate"})
// CHECK-SAME: -> (loss: tensor<f32> {nn.role = "loss"}, accuracy: tensor<f32> {nn.role = "metric"}, w: tensor<8x3xf32> {nn.role = "parameter"}, b: tensor<3xf32> {nn.role = "parameter"})
// CHECK: %[[DW:.*]] = nn.linear_grad_weight
// CHECK: %[[SCALED:.*]] = nn.mul %{{.*}}, %learning_rate
// CHECK: nn.sub %{{[wb]}}, %[[SCALED]]

// CHECK: nn.step "gradient" @gradient(
// CHECK-NOT: learning_rate
// CHECK-SAME: -> (loss: tensor<f32> {nn.role = "loss"}, accuracy: tensor<f32> {nn.role = "metric"}, w: tensor<8x3xf32> {nn.role = "gradient"}, b: tensor<3xf32> {nn.role = "gradient"})

// CHECK: nn.step "evaluate" @evaluate(%w: {{.*}}, %b: {{.*}}, %x: {{.*}}, %label: {{.*}}) -> (loss: tensor<f32> {nn.role = "loss"}, accuracy: tensor<f32> {nn.role = "metric"})
// CHECK-NOT: nn.linear_grad_weight

// The label is no argument of inference: nothing reads it.
// CHECK: nn.step "infer" @infer(
// CHECK-NOT: label
// CHECK-SAME: -> (logits: tensor<4x3xf32> {nn.role = "output"})
// CHECK-NEXT: nn.linear
// CHECK-NEXT: nn.return

// INFER-NOT: nn.step "train"
// INFER: nn.step "infer" @infer
nn.model @m(%x: tensor<4x8xf32> {nn.dims = ["batch", "features"]}, %label: tensor<4xi32>)
    -> (loss: tensor<f32>, logits: tensor<4x3xf32>, accuracy: tensor<f32>) {
  %w = nn.param "w" init(kaiming) dims("in", "out") : tensor<8x3xf32>
  %b = nn.param "b" init(zeros) : tensor<3xf32>
  %logits = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<4x3xf32>, tensor<4xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<4x3xf32>, tensor<f32>
}
