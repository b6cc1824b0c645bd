// RUN: pdc-opt %s --specialize --verify-specialized | FileCheck %s
// RUN: pdc-opt %s --specialize=batch=2 --verify-specialized | FileCheck %s

// A model with a static batch needs none, and takes its own.
// CHECK: nn.model @m(%x: tensor<2x3xf32>) -> (loss: tensor<f32>)
nn.model @m(%x: tensor<2x3xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
