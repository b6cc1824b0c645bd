// RUN: not pdc-opt %s --specialize 2>&1 | FileCheck %s
// RUN: not pdc-opt %s --specialize=batch=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not pdc-opt %s --specialize=batch=-2 2>&1 | FileCheck %s --check-prefix=NEGATIVE

// ZERO: error: --batch must be at least 1, got 0
// NEGATIVE: error: --batch must be at least 1, got -2
// CHECK: [[@LINE+1]]:1: error: the batch of model @m is not bound: give --batch=N
nn.model @m(%x: tensor<?x3xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
