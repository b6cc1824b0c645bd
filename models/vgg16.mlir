// VGG-16 (Simonyan and Zisserman 2015), configuration D, without batch normalization: 138,357,544 parameters.
nn.model @vgg16(%image: tensor<?x3x224x224xf32> {nn.dims = ["batch", "channels", "height", "width"]},
               %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x1000xf32>, accuracy: tensor<f32>) {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<64x3x3x3xf32>
  %b1 = nn.param "conv1.bias" init(zeros) : tensor<64xf32>
  %c1 = nn.conv2d %image, %w1, %b1 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x3x224x224xf32>, tensor<64x3x3x3xf32>, tensor<64xf32>) -> tensor<?x64x224x224xf32>
  %r1 = nn.relu %c1 : tensor<?x64x224x224xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<64x64x3x3xf32>
  %b2 = nn.param "conv2.bias" init(zeros) : tensor<64xf32>
  %c2 = nn.conv2d %r1, %w2, %b2 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x64x224x224xf32>, tensor<64x64x3x3xf32>, tensor<64xf32>) -> tensor<?x64x224x224xf32>
  %r2 = nn.relu %c2 : tensor<?x64x224x224xf32>
  %p1 = nn.max_pool2d %r2 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x64x224x224xf32>) -> tensor<?x64x112x112xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<128x64x3x3xf32>
  %b3 = nn.param "conv3.bias" init(zeros) : tensor<128xf32>
  %c3 = nn.conv2d %p1, %w3, %b3 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x64x112x112xf32>, tensor<128x64x3x3xf32>, tensor<128xf32>) -> tensor<?x128x112x112xf32>
  %r3 = nn.relu %c3 : tensor<?x128x112x112xf32>
  %w4 = nn.param "conv4.weight" init(kaiming) : tensor<128x128x3x3xf32>
  %b4 = nn.param "conv4.bias" init(zeros) : tensor<128xf32>
  %c4 = nn.conv2d %r3, %w4, %b4 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x128x112x112xf32>, tensor<128x128x3x3xf32>, tensor<128xf32>) -> tensor<?x128x112x112xf32>
  %r4 = nn.relu %c4 : tensor<?x128x112x112xf32>
  %p2 = nn.max_pool2d %r4 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x128x112x112xf32>) -> tensor<?x128x56x56xf32>
  %w5 = nn.param "conv5.weight" init(kaiming) : tensor<256x128x3x3xf32>
  %b5 = nn.param "conv5.bias" init(zeros) : tensor<256xf32>
  %c5 = nn.conv2d %p2, %w5, %b5 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x128x56x56xf32>, tensor<256x128x3x3xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32>
  %r5 = nn.relu %c5 : tensor<?x256x56x56xf32>
  %w6 = nn.param "conv6.weight" init(kaiming) : tensor<256x256x3x3xf32>
  %b6 = nn.param "conv6.bias" init(zeros) : tensor<256xf32>
  %c6 = nn.conv2d %r5, %w6, %b6 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x256x56x56xf32>, tensor<256x256x3x3xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32>
  %r6 = nn.relu %c6 : tensor<?x256x56x56xf32>
  %w7 = nn.param "conv7.weight" init(kaiming) : tensor<256x256x3x3xf32>
  %b7 = nn.param "conv7.bias" init(zeros) : tensor<256xf32>
  %c7 = nn.conv2d %r6, %w7, %b7 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x256x56x56xf32>, tensor<256x256x3x3xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32>
  %r7 = nn.relu %c7 : tensor<?x256x56x56xf32>
  %p3 = nn.max_pool2d %r7 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x256x56x56xf32>) -> tensor<?x256x28x28xf32>
  %w8 = nn.param "conv8.weight" init(kaiming) : tensor<512x256x3x3xf32>
  %b8 = nn.param "conv8.bias" init(zeros) : tensor<512xf32>
  %c8 = nn.conv2d %p3, %w8, %b8 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x256x28x28xf32>, tensor<512x256x3x3xf32>, tensor<512xf32>) -> tensor<?x512x28x28xf32>
  %r8 = nn.relu %c8 : tensor<?x512x28x28xf32>
  %w9 = nn.param "conv9.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %b9 = nn.param "conv9.bias" init(zeros) : tensor<512xf32>
  %c9 = nn.conv2d %r8, %w9, %b9 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x512x28x28xf32>, tensor<512x512x3x3xf32>, tensor<512xf32>) -> tensor<?x512x28x28xf32>
  %r9 = nn.relu %c9 : tensor<?x512x28x28xf32>
  %w10 = nn.param "conv10.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %b10 = nn.param "conv10.bias" init(zeros) : tensor<512xf32>
  %c10 = nn.conv2d %r9, %w10, %b10 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x512x28x28xf32>, tensor<512x512x3x3xf32>, tensor<512xf32>) -> tensor<?x512x28x28xf32>
  %r10 = nn.relu %c10 : tensor<?x512x28x28xf32>
  %p4 = nn.max_pool2d %r10 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x512x28x28xf32>) -> tensor<?x512x14x14xf32>
  %w11 = nn.param "conv11.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %b11 = nn.param "conv11.bias" init(zeros) : tensor<512xf32>
  %c11 = nn.conv2d %p4, %w11, %b11 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x512x14x14xf32>, tensor<512x512x3x3xf32>, tensor<512xf32>) -> tensor<?x512x14x14xf32>
  %r11 = nn.relu %c11 : tensor<?x512x14x14xf32>
  %w12 = nn.param "conv12.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %b12 = nn.param "conv12.bias" init(zeros) : tensor<512xf32>
  %c12 = nn.conv2d %r11, %w12, %b12 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x512x14x14xf32>, tensor<512x512x3x3xf32>, tensor<512xf32>) -> tensor<?x512x14x14xf32>
  %r12 = nn.relu %c12 : tensor<?x512x14x14xf32>
  %w13 = nn.param "conv13.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %b13 = nn.param "conv13.bias" init(zeros) : tensor<512xf32>
  %c13 = nn.conv2d %r12, %w13, %b13 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x512x14x14xf32>, tensor<512x512x3x3xf32>, tensor<512xf32>) -> tensor<?x512x14x14xf32>
  %r13 = nn.relu %c13 : tensor<?x512x14x14xf32>
  %p5 = nn.max_pool2d %r13 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<?x512x14x14xf32>) -> tensor<?x512x7x7xf32>
  %flat = nn.reshape %p5 : tensor<?x512x7x7xf32> to tensor<?x25088xf32>
  %wf1 = nn.param "fc1.weight" init(kaiming) dims("features1", "features2") : tensor<25088x4096xf32>
  %bf1 = nn.param "fc1.bias" init(zeros) : tensor<4096xf32>
  %h1 = nn.linear %flat, %wf1, %bf1 : (tensor<?x25088xf32>, tensor<25088x4096xf32>, tensor<4096xf32>) -> tensor<?x4096xf32>
  %a1 = nn.relu %h1 : tensor<?x4096xf32>
  %d1 = nn.dropout %a1 {rate = 0.5} : (tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %wf2 = nn.param "fc2.weight" init(kaiming) dims("features2", "features3") : tensor<4096x4096xf32>
  %bf2 = nn.param "fc2.bias" init(zeros) : tensor<4096xf32>
  %h2 = nn.linear %d1, %wf2, %bf2 : (tensor<?x4096xf32>, tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<?x4096xf32>
  %a2 = nn.relu %h2 : tensor<?x4096xf32>
  %d2 = nn.dropout %a2 {rate = 0.5} : (tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %wf3 = nn.param "fc3.weight" init(normal(0.01)) dims("features3", "classes") : tensor<4096x1000xf32>
  %bf3 = nn.param "fc3.bias" init(zeros) : tensor<1000xf32>
  %logits = nn.linear %d2, %wf3, %bf3 : (tensor<?x4096xf32>, tensor<4096x1000xf32>, tensor<1000xf32>) -> tensor<?x1000xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x1000xf32>, tensor<f32>
}
