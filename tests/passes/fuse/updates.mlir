// RUN: pdc-opt %s --fuse --split-input-file | FileCheck %s

// An update is one kernel in the memory of the old values. It comes after the library call that reads the parameter.
// CHECK-LABEL: nn.step "train" @momentum
// CHECK: nn.linear_grad_weight
// CHECK: nn.linear
// CHECK: nn.fusion
// CHECK-SAME: donate = {{\[\[}}[[P:[0-9]]], [[RP:[01]]]], [
// CHECK-NOT: nn.fusion
// CHECK: nn.return
nn.step "train" @momentum(
    %w: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w"},
    %m: tensor<8x8xf32> {nn.role = "optimizer_state", nn.slot = "momentum", nn.name = "w"},
    %x: tensor<4x8xf32> {nn.role = "input"}, %g: tensor<4x8xf32> {nn.role = "input"},
    %rate: tensor<f32> {nn.role = "learning_rate"})
    -> (y: tensor<4x8xf32> {nn.role = "output"}, w: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w"},
        m: tensor<8x8xf32> {nn.role = "optimizer_state", nn.slot = "momentum", nn.name = "w"}) {
  %dw = nn.linear_grad_weight %x, %g : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %decay = nn.constant dense<0.9> : tensor<f32>
  %0 = nn.mul %m, %decay : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %1 = nn.add %0, %dw : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.mul %1, %rate : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
  %3 = nn.sub %w, %2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  nn.return %y, %3, %1 : tensor<4x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A bias gradient and the bias's update are two kernels: the gradient may have to be reduced over ranks between them.
// CHECK-LABEL: nn.step "train" @bias
// CHECK: nn.fusion
// CHECK: nn.reduce_sum
// CHECK: nn.yield
// CHECK: nn.fusion
// CHECK-SAME: donate
// CHECK: nn.sub
nn.step "train" @bias(%b: tensor<8xf32> {nn.role = "parameter", nn.name = "b"}, %g: tensor<4x8xf32> {nn.role = "input"},
                      %rate: tensor<f32> {nn.role = "learning_rate"})
    -> (b: tensor<8xf32> {nn.role = "parameter", nn.name = "b"}) {
  %db = nn.reduce_sum %g {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8xf32>
  %0 = nn.mul %db, %rate : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = nn.sub %b, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  nn.return %1 : tensor<8xf32>
}

// -----

// The old value is also a result: the update must not overwrite it.
// CHECK-LABEL: nn.step "train" @old_value_is_returned
// CHECK: nn.fusion
// CHECK-NOT: donate
// CHECK: nn.return
nn.step "train" @old_value_is_returned(%b: tensor<8xf32> {nn.role = "parameter", nn.name = "b"})
    -> (old: tensor<8xf32> {nn.role = "output"}, b: tensor<8xf32> {nn.role = "parameter", nn.name = "b"}) {
  %0 = nn.neg %b : tensor<8xf32>
  nn.return %b, %0 : tensor<8xf32>, tensor<8xf32>
}
