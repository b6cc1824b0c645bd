// A residual network of two basic blocks on 16 x 16 images: for tests.
nn.block @stage1_first(%x: tensor<?x8x16x16xf32>) -> tensor<?x8x16x16xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<8x8x3x3xf32>
  %c1 = nn.conv2d %x, %w1 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<?x8x16x16xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<8xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<8xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<8xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<8xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x16x16xf32>
  %r1 = nn.relu %n1 : tensor<?x8x16x16xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<8x8x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<?x8x16x16xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<8xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<8xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<8xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<8xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x16x16xf32>
  %sum = nn.add %n2, %x : (tensor<?x8x16x16xf32>, tensor<?x8x16x16xf32>) -> tensor<?x8x16x16xf32>
  %y = nn.relu %sum : tensor<?x8x16x16xf32>
  nn.return %y : tensor<?x8x16x16xf32>
}

nn.block @stage2_first(%x: tensor<?x8x16x16xf32>) -> tensor<?x16x8x8xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<16x8x3x3xf32>
  %c1 = nn.conv2d %x, %w1 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<?x8x16x16xf32>, tensor<16x8x3x3xf32>) -> tensor<?x16x8x8xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<16xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<16xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<16xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<16xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x8x8xf32>
  %r1 = nn.relu %n1 : tensor<?x16x8x8xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<16x16x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x16x8x8xf32>, tensor<16x16x3x3xf32>) -> tensor<?x16x8x8xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<16xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<16xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<16xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<16xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x8x8xf32>
  %w9 = nn.param "downsample.weight" init(kaiming) : tensor<16x8x1x1xf32>
  %c9 = nn.conv2d %x, %w9 {stride = array<i64: 2, 2>} : (tensor<?x8x16x16xf32>, tensor<16x8x1x1xf32>) -> tensor<?x16x8x8xf32>
  %g9 = nn.param "downsample.bn.weight" init(ones) : tensor<16xf32>
  %b9 = nn.param "downsample.bn.bias" init(zeros) : tensor<16xf32>
  %m9 = nn.state "downsample.bn.running_mean" init(zeros) : tensor<16xf32>
  %v9 = nn.state "downsample.bn.running_var" init(ones) : tensor<16xf32>
  %n9 = nn.batch_norm %c9, %g9, %b9, %m9, %v9 : (tensor<?x16x8x8xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16x8x8xf32>
  %sum = nn.add %n2, %n9 : (tensor<?x16x8x8xf32>, tensor<?x16x8x8xf32>) -> tensor<?x16x8x8xf32>
  %y = nn.relu %sum : tensor<?x16x8x8xf32>
  nn.return %y : tensor<?x16x8x8xf32>
}

nn.model @resnet_tiny(%image: tensor<?x3x16x16xf32> {nn.dims = ["batch", "channels", "height", "width"]},
                  %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x10xf32>, accuracy: tensor<f32>) {
  %w0 = nn.param "conv1.weight" init(kaiming) : tensor<8x3x3x3xf32>
  %c0 = nn.conv2d %image, %w0 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x3x16x16xf32>, tensor<8x3x3x3xf32>) -> tensor<?x8x16x16xf32>
  %g0 = nn.param "bn1.weight" init(ones) : tensor<8xf32>
  %b0 = nn.param "bn1.bias" init(zeros) : tensor<8xf32>
  %m0 = nn.state "bn1.running_mean" init(zeros) : tensor<8xf32>
  %v0 = nn.state "bn1.running_var" init(ones) : tensor<8xf32>
  %n0 = nn.batch_norm %c0, %g0, %b0, %m0, %v0 : (tensor<?x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x16x16xf32>
  %r0 = nn.relu %n0 : tensor<?x8x16x16xf32>
  %s1 = nn.call @stage1_first "layer1.0." (%r0) : (tensor<?x8x16x16xf32>) -> tensor<?x8x16x16xf32>
  %s2 = nn.call @stage2_first "layer2.0." (%s1) : (tensor<?x8x16x16xf32>) -> tensor<?x16x8x8xf32>
  %pool = nn.global_avg_pool2d %s2 : (tensor<?x16x8x8xf32>) -> tensor<?x16xf32>
  %wf = nn.param "fc.weight" init(normal(0.01)) dims("features", "classes") : tensor<16x10xf32>
  %bf = nn.param "fc.bias" init(zeros) dims("classes") : tensor<10xf32>
  %logits = nn.linear %pool, %wf, %bf : (tensor<?x16xf32>, tensor<16x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x10xf32>, tensor<f32>
}
