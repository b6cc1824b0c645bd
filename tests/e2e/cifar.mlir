// A tiny convolutional network for CIFAR-10: one convolution and the average of its output.
nn.model @cifar(%image: tensor<?x3x32x32xf32> {nn.dims = ["batch", "channels", "height", "width"]},
                %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x10xf32>, accuracy: tensor<f32>) {
  %w1 = nn.param "conv.weight" init(kaiming) : tensor<8x3x3x3xf32>
  %b1 = nn.param "conv.bias" init(zeros) : tensor<8xf32>
  %c1 = nn.conv2d %image, %w1, %b1 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x3x32x32xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<?x8x16x16xf32>
  %r1 = nn.relu %c1 : tensor<?x8x16x16xf32>
  %p1 = nn.max_pool2d %r1 {kernel = array<i64: 4, 4>, stride = array<i64: 4, 4>}
      : (tensor<?x8x16x16xf32>) -> tensor<?x8x4x4xf32>
  %flat = nn.reshape %p1 : tensor<?x8x4x4xf32> to tensor<?x128xf32>
  %w2 = nn.param "fc.weight" init(kaiming) : tensor<128x10xf32>
  %b2 = nn.param "fc.bias" init(zeros) : tensor<10xf32>
  %logits = nn.linear %flat, %w2, %b2 : (tensor<?x128xf32>, tensor<128x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x10xf32>, tensor<f32>
}
