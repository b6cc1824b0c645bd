// RUN: pdc-opt %s --precision=type=bf16 --autodiff=modes=train --verify-step | FileCheck %s

// Gradients flow through the casts: computed in bf16, f32 where the parameter takes them.
// CHECK-LABEL: nn.step "train" @train
// CHECK: %[[G:.*]] = nn.matmul {{.*}} -> tensor<8x8xbf16>
// CHECK: nn.cast %[[G]] : tensor<8x8xbf16> to tensor<8x8xf32>
nn.model @m(%x: tensor<4x8xf32>) -> tensor<f32> {
  %w = nn.param "w" init(kaiming) : tensor<8x8xf32>
  %y = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
