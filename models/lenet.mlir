// LeNet-5 (LeCun et al. 1998) with rectifiers and max pooling, for 28 x 28 images.
nn.model @lenet(%image: tensor<?x1x28x28xf32> {nn.dims = ["batch", "channels", "height", "width"]},
                %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x10xf32>, accuracy: tensor<f32>) {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<6x1x5x5xf32>
  %b1 = nn.param "conv1.bias" init(zeros) : tensor<6xf32>
  %c1 = nn.conv2d %image, %w1, %b1 {padding = array<i64: 2, 2, 2, 2>}
      : (tensor<?x1x28x28xf32>, tensor<6x1x5x5xf32>, tensor<6xf32>) -> tensor<?x6x28x28xf32>
  %r1 = nn.relu %c1 : tensor<?x6x28x28xf32>
  %p1 = nn.max_pool2d %r1 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>}
      : (tensor<?x6x28x28xf32>) -> tensor<?x6x14x14xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<16x6x5x5xf32>
  %b2 = nn.param "conv2.bias" init(zeros) : tensor<16xf32>
  %c2 = nn.conv2d %p1, %w2, %b2
      : (tensor<?x6x14x14xf32>, tensor<16x6x5x5xf32>, tensor<16xf32>) -> tensor<?x16x10x10xf32>
  %r2 = nn.relu %c2 : tensor<?x16x10x10xf32>
  %p2 = nn.max_pool2d %r2 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>}
      : (tensor<?x16x10x10xf32>) -> tensor<?x16x5x5xf32>
  %flat = nn.reshape %p2 : tensor<?x16x5x5xf32> to tensor<?x400xf32>
  %w3 = nn.param "fc1.weight" init(kaiming) : tensor<400x120xf32>
  %b3 = nn.param "fc1.bias" init(zeros) : tensor<120xf32>
  %h3 = nn.linear %flat, %w3, %b3 : (tensor<?x400xf32>, tensor<400x120xf32>, tensor<120xf32>) -> tensor<?x120xf32>
  %r3 = nn.relu %h3 : tensor<?x120xf32>
  %w4 = nn.param "fc2.weight" init(kaiming) : tensor<120x84xf32>
  %b4 = nn.param "fc2.bias" init(zeros) : tensor<84xf32>
  %h4 = nn.linear %r3, %w4, %b4 : (tensor<?x120xf32>, tensor<120x84xf32>, tensor<84xf32>) -> tensor<?x84xf32>
  %r4 = nn.relu %h4 : tensor<?x84xf32>
  %w5 = nn.param "fc3.weight" init(kaiming) : tensor<84x10xf32>
  %b5 = nn.param "fc3.bias" init(zeros) : tensor<10xf32>
  %logits = nn.linear %r4, %w5, %b5 : (tensor<?x84xf32>, tensor<84x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x10xf32>, tensor<f32>
}
