// The declared shape goes with the parameter and its optimizer state into steps and rank programs; initial values are those
// of the declared shape (xavier: sqrt(6 / (8 + 12)) = 0.5477), and a bias with parts does not decay. Gradients are one
// product, too.
// RUN: pdc-opt %s -separate-projections -autodiff="modes=train optimizer=momentum hyperparameters=weight_decay=0.125" -verify-step | FileCheck %s
// RUN: pdc-opt %s -separate-projections -autodiff="modes=train optimizer=momentum" -plan-data-parallel="ranks=2" -partition -fuse -lower | FileCheck %s --check-prefix=LOWERED

// CHECK: nn.step "train" @train(%w: tensor<8x2x6xf32> {nn.declared_shape = array<i64: 8, 12>, nn.dims = ["in", "", "out"], nn.init = #nn.init<uniform(-0.547722{{[0-9]*}}, 0.547722{{[0-9]*}})>, nn.name = "w", nn.role = "parameter"}
// CHECK-SAME: tensor<2x6xf32> {nn.declared_shape = array<i64: 12>, nn.init = #nn.init<zeros>, nn.name = "b", nn.role = "parameter"}
// CHECK-SAME: tensor<8x2x6xf32> {nn.declared_shape = array<i64: 8, 12>, nn.dims = ["in", "", "out"], nn.init = #nn.init<zeros>, nn.name = "w", nn.role = "optimizer_state", nn.slot = "momentum"}
// CHECK-SAME: tensor<2x6xf32> {nn.declared_shape = array<i64: 12>, nn.init = #nn.init<zeros>, nn.name = "b", nn.role = "optimizer_state", nn.slot = "momentum"}
// CHECK: nn.linear_grad_weight %x, %{{.*}} : (tensor<4x8xf32>, tensor<4x2x6xf32>) -> tensor<8x2x6xf32>
// CHECK: nn.reduce_sum %{{.*}} {axes = array<i64: 0>} : (tensor<4x2x6xf32>) -> tensor<2x6xf32>
// CHECK: %[[WD:.*]] = nn.constant dense<1.250000e-01>
// CHECK-NOT: nn.mul %b, %[[WD]]
// CHECK: nn.mul %w, %[[WD]]
// CHECK-NOT: nn.mul %b, %[[WD]]
// CHECK: nn.return

// LOWERED: rt.buffer parameter private "w" {declared_shape = array<i64: 8, 12>, global_shape = array<i64: 8, 2, 6>
// LOWERED: rt.buffer optimizer_state private "w" {declared_shape = array<i64: 8, 12>, global_shape = array<i64: 8, 2, 6>
nn.model @gated(%x: tensor<4x8xf32>) -> tensor<f32> {
  %w = nn.param "w" init(xavier) dims("in", "out") : tensor<8x12xf32>
  %b = nn.param "b" init(zeros) : tensor<12xf32>
  %y = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x12xf32>, tensor<12xf32>) -> tensor<4x12xf32>
  %gate, %up = nn.split %y {axis = 1 : i64, sizes = array<i64: 6, 6>} : (tensor<4x12xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  %a = nn.silu %gate : tensor<4x6xf32>
  %g = nn.mul %a, %up : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %loss = nn.reduce_sum %g {axes = array<i64: 0, 1>} : (tensor<4x6xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
