// RUN: pdc-opt %s --decompose | FileCheck %s --check-prefix=AUTODIFF
// RUN: pdc-opt %s --decompose=stage=before-fusion | FileCheck %s --check-prefix=FUSION

// Composite ops go at both stages; those with gradients of their own stay until fusion.
// AUTODIFF-NOT: nn.cross_entropy %
// AUTODIFF: nn.layer_norm
// AUTODIFF-NOT: nn.attention
// AUTODIFF: nn.softmax
// AUTODIFF: nn.cross_entropy_rows
// FUSION-NOT: nn.layer_norm
// FUSION-NOT: nn.softmax
// FUSION-NOT: nn.cross_entropy
// FUSION-NOT: nn.reduce_mean
// FUSION: nn.return
nn.model @m(%x: tensor<2x4x2x8xf32>, %label: tensor<2x4x2xi32>) -> tensor<f32> {
  %g = nn.param "g" init(ones) : tensor<8xf32>
  %y = nn.layer_norm %x, %g : (tensor<2x4x2x8xf32>, tensor<8xf32>) -> tensor<2x4x2x8xf32>
  %a = nn.attention %y, %y, %y {causal} : (tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>, tensor<2x4x2x8xf32>) -> tensor<2x4x2x8xf32>
  %loss = nn.cross_entropy %a, %label : (tensor<2x4x2x8xf32>, tensor<2x4x2xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
