// A filter for another number of channels.
// RUN: not pdc %s -o %t --batch=4 2>&1 | FileCheck %s
// CHECK: channels_differ.mlir:[[@LINE+4]]:8: error: 'nn.conv2d' op expected weight [out, c / groups, kh, kw] with c / groups = 3 for the input 'tensor<?x3x8x8xf32>' and groups = 1, found 'tensor<4x1x3x3xf32>'
// CHECK-NOT: error:
nn.model @m(%x: tensor<?x3x8x8xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>) {
  %k = nn.param "conv.weight" init(kaiming) : tensor<4x1x3x3xf32>
  %c = nn.conv2d %x, %k {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x3x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<?x4x8x8xf32>
  %p = nn.max_pool2d %c {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x4x8x8xf32>) -> tensor<?x4x4x4xf32>
  %f = nn.reshape %p : tensor<?x4x4x4xf32> to tensor<?x64xf32>
  %w = nn.param "fc.weight" init(kaiming) : tensor<64x4xf32>
  %logits = nn.linear %f, %w : (tensor<?x64xf32>, tensor<64x4xf32>) -> tensor<?x4xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
