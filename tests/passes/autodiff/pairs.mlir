// With `pairs`, a step says which value is the gradient of which: once per gradient, and only where both stay in use.
// RUN: pdc-opt %s --autodiff='modes=train optimizer=sgd pairs' | FileCheck %s
// RUN: pdc-opt %s --autodiff='modes=train optimizer=sgd' | FileCheck %s --check-prefix=WITHOUT
// WITHOUT-NOT: dist.alike

nn.model @residual(%x: tensor<4x8xf32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) : tensor<8x8xf32>
  %v = nn.param "v" init(kaiming) : tensor<8x8xf32>
  %a = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %b = nn.tanh %a : tensor<4x8xf32>
  %c = nn.linear %b, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %d = nn.add %a, %c : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %e = nn.tanh %d : tensor<4x8xf32>
  %loss = nn.reduce_sum %e {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// CHECK-LABEL: nn.step "train" @train(
// CHECK-DAG: %[[A:.*]] = nn.linear %x, %w :
// CHECK-DAG: %[[B:.*]] = nn.tanh %[[A]] :
// CHECK-DAG: %[[C:.*]] = nn.linear %[[B]], %v :
// CHECK-DAG: %[[D:.*]] = nn.add %[[A]], %[[C]] :
// CHECK-DAG: %[[DB:.*]] = nn.linear %[[DD:.*]], %v {transpose_weight} :
// CHECK-DAG: %[[DV:.*]] = nn.linear_grad_weight %[[B]], %[[DD]] :
// CHECK-DAG: dist.alike %[[D]], %[[DD]] :
// CHECK-DAG: dist.alike %[[B]], %[[DB]] :
// CHECK-DAG: dist.alike %v, %[[DV]] :
// CHECK-NOT: dist.alike %[[C]], %[[DD]]
