// Models, blocks, steps and fusions print as they are written.
// RUN: pdc-opt %s | FileCheck %s
// RUN: pdc-opt %s | pdc-opt | FileCheck %s
// RUN: pdc-opt --mlir-print-op-generic %s | pdc-opt | FileCheck %s

// CHECK-LABEL: nn.model @classifier(%x: tensor<?x4xf32> {nn.dims = ["batch", "in"]}, %label: tensor<?xi32>)
// CHECK-SAME:    -> (loss: tensor<f32>, logits: tensor<?x4xf32>)
nn.model @classifier(%x: tensor<?x4xf32> {nn.dims = ["batch", "in"]}, %label: tensor<?xi32>)
    -> (loss: tensor<f32>, logits: tensor<?x4xf32>) {
  // CHECK: nn.param "fc.weight" init(kaiming) dims("in", "out") : tensor<4x4xf32>
  %w = nn.param "fc.weight" init(kaiming) dims("in", "out") : tensor<4x4xf32>
  // CHECK: nn.param "a" init(zeros) : tensor<4xf32>
  %a = nn.param "a" init(zeros) : tensor<4xf32>
  // CHECK: nn.param "b" init(ones) {no_decay} : tensor<2x4xf32>
  %b = nn.param "b" init(ones) {no_decay} : tensor<2x4xf32>
  // CHECK: nn.param "separate" init(xavier) dims("in", "", "out") {declared_shape = array<i64: 4, 6>} : tensor<4x3x2xf32>
  %separate = nn.param "separate" init(xavier) dims("in", "", "out") {declared_shape = array<i64: 4, 6>} : tensor<4x3x2xf32>
  // CHECK: nn.param "c" init(normal(2.000000e-02)) : tensor<4xf32>
  %c = nn.param "c" init(normal(0.02)) : tensor<4xf32>
  // CHECK: nn.param "d" init(normal(1.000000e+00, 5.000000e-01)) : tensor<4xf32>
  %d = nn.param "d" init(normal(1.0, 0.5)) : tensor<4xf32>
  // CHECK: nn.param "e" init(truncated_normal(2.000000e-02)) : tensor<4xf32>
  %e = nn.param "e" init(truncated_normal(0.02)) : tensor<4xf32>
  // CHECK: nn.param "f" init(uniform(-1.000000e+00, 1.000000e+00)) : tensor<4xf32>
  %f = nn.param "f" init(uniform(-1.0, 1.0)) : tensor<4xf32>
  // CHECK: nn.param "g" init(xavier) : tensor<8x4x3x3xf32>
  %g = nn.param "g" init(xavier) : tensor<8x4x3x3xf32>
  // CHECK: %[[STATE:.*]] = nn.state "mean" init(constant(1.000000e+00)) : tensor<4xf32>
  %mean = nn.state "mean" init(constant(1)) : tensor<4xf32>
  // CHECK: nn.assign %[[STATE]], %{{.*}} : tensor<4xf32>
  nn.assign %mean, %a : tensor<4xf32>
  // CHECK: %[[H:.*]] = nn.repeat 2 @dense "h" (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %h = nn.repeat 2 @dense "h" (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.call @dense "last." (%[[H]]) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = nn.call @dense "last." (%h) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %loss = nn.cross_entropy %l, %label : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<f32>
  // CHECK: nn.return %{{.*}}, %{{.*}} : tensor<f32>, tensor<?x4xf32>
  nn.return %loss, %l : tensor<f32>, tensor<?x4xf32>
}

// CHECK-LABEL: nn.block @dense(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
nn.block @dense(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = nn.param "w" init(kaiming) : tensor<4x4xf32>
  %h = nn.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  nn.return %h : tensor<?x4xf32>
}

// A first result without a name is the loss.
// CHECK-LABEL: nn.model @unnamed(%x: tensor<2xf32>) -> (loss: tensor<f32>) {
nn.model @unnamed(%x: tensor<2xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// Names that cannot be told from the SSA name stand in nn.name; results called like a type are quoted.
// CHECK-LABEL: nn.step "infer" @step
// CHECK-SAME:    (%fc.weight: tensor<4xf32> {nn.init = #nn.init<uniform(-1.000000e+00, 1.000000e+00)>, nn.name = "fc.weight", nn.role = "parameter"},
// CHECK-SAME:     %fc.weight_0: tensor<4xf32> {nn.name = "fc.weight", nn.role = "optimizer_state", nn.slot = "m"},
// CHECK-SAME:     %x: tensor<4xf32> {nn.role = "input"})
// CHECK-SAME:    -> ("f32": tensor<4xf32> {nn.role = "output"}) attributes {seen}
nn.step "infer" @step(
    %fc.weight: tensor<4xf32> {nn.init = #nn.init<uniform(-1.0, 1.0)>, nn.role = "parameter"},
    %m: tensor<4xf32> {nn.name = "fc.weight", nn.role = "optimizer_state", nn.slot = "m"},
    %x: tensor<4xf32> {nn.role = "input"})
    -> ("f32": tensor<4xf32> {nn.role = "output"}) attributes {seen} {
  // CHECK: nn.fusion(%{{.*}} = %fc.weight : tensor<4xf32>, %{{.*}} = %x : tensor<4xf32>) -> tensor<4xf32>
  // CHECK-SAME: attributes {donate = {{\[\[}}0, 0]], label = "sum"} {
  %r = nn.fusion(%a = %fc.weight : tensor<4xf32>, %b = %x : tensor<4xf32>) -> tensor<4xf32>
      attributes {donate = [[0, 0]], label = "sum"} {
    %s = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: nn.yield %{{.*}} : tensor<4xf32>
    nn.yield %s : tensor<4xf32>
  }
  // CHECK: nn.fusion() -> (tensor<4xf32>, tensor<2xf32>) {
  %s:2 = nn.fusion() -> (tensor<4xf32>, tensor<2xf32>) {
    %z = nn.constant dense<0.0> : tensor<4xf32>
    %o = nn.constant dense<1.0> : tensor<2xf32>
    nn.yield %z, %o : tensor<4xf32>, tensor<2xf32>
  }
  nn.return %r : tensor<4xf32>
}
