// RUN: pdc-opt %s --specialize=batch=4 --verify-specialized | FileCheck %s
// RUN: pdc-opt %s --specialize=batch=4 --mlir-print-debuginfo | FileCheck %s --check-prefix=LABEL
// RUN: pdc-opt %s --specialize=batch=4 --canonicalize --cse --verify-specialized | FileCheck %s --check-prefix=SIMPLE

nn.block @inner(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %w = nn.param "fc.weight" init(kaiming) dims("in", "out") : tensor<8x8xf32>
  %y = nn.linear %x, %w : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %d = nn.dropout %y {rate = 0.1 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  nn.return %d : tensor<?x8xf32>
}

// Carries its first operand; the second is the same in every application.
nn.block @layer(%x: tensor<?x8xf32>, %bias: tensor<8xf32>) -> tensor<?x8xf32> {
  %h = nn.call @inner "mlp." (%x) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = nn.add %h, %bias : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  nn.return %y : tensor<?x8xf32>
}

// CHECK-NOT: nn.block
// CHECK: nn.model @m(%x: tensor<4x2x4xf32>) -> (loss: tensor<f32>, rows: tensor<4x8xf32>)
nn.model @m(%x: tensor<?x2x4xf32>) -> (loss: tensor<f32>, rows: tensor<?x8xf32>) {
  // CHECK: %[[BIAS:.*]] = nn.param "bias"
  %bias = nn.param "bias" init(zeros) : tensor<8xf32>
  // The batch of a reshape follows from the number of elements.
  // CHECK: nn.reshape %x : tensor<4x2x4xf32> to tensor<4x8xf32>
  %flat = nn.reshape %x : tensor<?x2x4xf32> to tensor<?x8xf32>
  // CHECK: nn.reshape %x : tensor<4x2x4xf32> to tensor<8x4xf32>
  %joined = nn.reshape %x : tensor<?x2x4xf32> to tensor<?x4xf32>
  // CHECK: nn.relu %{{.*}} : tensor<8x4xf32>
  %active = nn.relu %joined : tensor<?x4xf32>
  // CHECK: %[[W0:.*]] = nn.param "h0.mlp.fc.weight" init(kaiming) dims("in", "out") : tensor<8x8xf32>
  // CHECK: nn.linear %{{.*}}, %[[W0]] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.dropout {{.*}} stream = 0
  // CHECK: %[[H0:.*]] = nn.add %{{.*}}, %[[BIAS]] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // CHECK: %[[W1:.*]] = nn.param "h1.mlp.fc.weight"
  // CHECK: nn.linear %[[H0]], %[[W1]]
  // CHECK: nn.dropout {{.*}} stream = 1
  // CHECK: %[[H1:.*]] = nn.add %{{.*}}, %[[BIAS]]
  // LABEL: nn.param "h1.mlp.fc.weight" {{.*}} loc(#[[PARAM:.*]])
  // LABEL: nn.linear {{.*}} loc(#[[LINEAR:.*]])
  // LABEL: nn.dropout {{.*}} loc(#[[DROPOUT:.*]])
  // LABEL: nn.add {{.*}} loc(#[[ADD:.*]])
  // LABEL-DAG: #[[PARAM]] = loc("h1.mlp.fc.weight"(
  // LABEL-DAG: #[[LINEAR]] = loc("h1.mlp.fc"(
  // LABEL-DAG: #[[DROPOUT]] = loc("h1.mlp"(
  // LABEL-DAG: #[[ADD]] = loc("h1"(
  %h = nn.repeat 2 @layer "h" (%flat, %bias) : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.param "last.fc.weight"
  // CHECK: nn.dropout {{.*}} stream = 2
  %last = nn.call @inner "last." (%h) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.slice {{.*}} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %part = nn.slice %last {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 4>} : (tensor<?x8xf32>) -> tensor<?x4xf32>
  %rows = nn.reduce_sum %part {axes = array<i64: 1>} : (tensor<?x4xf32>) -> tensor<?xf32>
  %sum = nn.reduce_sum %rows {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  %other = nn.reduce_sum %active {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  %loss = nn.add %sum, %other : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK: nn.return %{{.*}}, %{{.*}} : tensor<f32>, tensor<4x8xf32>
  nn.return %loss, %last : tensor<f32>, tensor<?x8xf32>
}

// Parameters are never merged, and dropouts neither.
// SIMPLE-COUNT-3: nn.dropout
// SIMPLE-NOT: nn.dropout
