// AlexNet (Krizhevsky et al. 2012) in one tower (Krizhevsky 2014), as torchvision has it: 61,100,840 parameters.
// torchvision's adaptive pooling to 6 x 6 is the identity for 224 x 224 images.
nn.model @alexnet(%image: tensor<?x3x224x224xf32> {nn.dims = ["batch", "channels", "height", "width"]},
               %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x1000xf32>, accuracy: tensor<f32>) {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<64x3x11x11xf32>
  %b1 = nn.param "conv1.bias" init(zeros) : tensor<64xf32>
  %c1 = nn.conv2d %image, %w1, %b1 {stride = array<i64: 4, 4>, padding = array<i64: 2, 2, 2, 2>}
      : (tensor<?x3x224x224xf32>, tensor<64x3x11x11xf32>, tensor<64xf32>) -> tensor<?x64x55x55xf32>
  %r1 = nn.relu %c1 : tensor<?x64x55x55xf32>
  %p1 = nn.max_pool2d %r1 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<?x64x55x55xf32>) -> tensor<?x64x27x27xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<192x64x5x5xf32>
  %b2 = nn.param "conv2.bias" init(zeros) : tensor<192xf32>
  %c2 = nn.conv2d %p1, %w2, %b2 {padding = array<i64: 2, 2, 2, 2>}
      : (tensor<?x64x27x27xf32>, tensor<192x64x5x5xf32>, tensor<192xf32>) -> tensor<?x192x27x27xf32>
  %r2 = nn.relu %c2 : tensor<?x192x27x27xf32>
  %p2 = nn.max_pool2d %r2 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<?x192x27x27xf32>) -> tensor<?x192x13x13xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<384x192x3x3xf32>
  %b3 = nn.param "conv3.bias" init(zeros) : tensor<384xf32>
  %c3 = nn.conv2d %p2, %w3, %b3 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x192x13x13xf32>, tensor<384x192x3x3xf32>, tensor<384xf32>) -> tensor<?x384x13x13xf32>
  %r3 = nn.relu %c3 : tensor<?x384x13x13xf32>
  %w4 = nn.param "conv4.weight" init(kaiming) : tensor<256x384x3x3xf32>
  %b4 = nn.param "conv4.bias" init(zeros) : tensor<256xf32>
  %c4 = nn.conv2d %r3, %w4, %b4 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x384x13x13xf32>, tensor<256x384x3x3xf32>, tensor<256xf32>) -> tensor<?x256x13x13xf32>
  %r4 = nn.relu %c4 : tensor<?x256x13x13xf32>
  %w5 = nn.param "conv5.weight" init(kaiming) : tensor<256x256x3x3xf32>
  %b5 = nn.param "conv5.bias" init(zeros) : tensor<256xf32>
  %c5 = nn.conv2d %r4, %w5, %b5 {padding = array<i64: 1, 1, 1, 1>}
      : (tensor<?x256x13x13xf32>, tensor<256x256x3x3xf32>, tensor<256xf32>) -> tensor<?x256x13x13xf32>
  %r5 = nn.relu %c5 : tensor<?x256x13x13xf32>
  %p3 = nn.max_pool2d %r5 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<?x256x13x13xf32>) -> tensor<?x256x6x6xf32>
  %flat = nn.reshape %p3 : tensor<?x256x6x6xf32> to tensor<?x9216xf32>
  %d0 = nn.dropout %flat {rate = 0.5} : (tensor<?x9216xf32>) -> tensor<?x9216xf32>
  %wf1 = nn.param "fc1.weight" init(kaiming) dims("features1", "features2") : tensor<9216x4096xf32>
  %bf1 = nn.param "fc1.bias" init(zeros) : tensor<4096xf32>
  %h1 = nn.linear %d0, %wf1, %bf1 : (tensor<?x9216xf32>, tensor<9216x4096xf32>, tensor<4096xf32>) -> tensor<?x4096xf32>
  %a1 = nn.relu %h1 : tensor<?x4096xf32>
  %d1 = nn.dropout %a1 {rate = 0.5} : (tensor<?x4096xf32>) -> tensor<?x4096xf32>
  %wf2 = nn.param "fc2.weight" init(kaiming) dims("features2", "features3") : tensor<4096x4096xf32>
  %bf2 = nn.param "fc2.bias" init(zeros) : tensor<4096xf32>
  %h2 = nn.linear %d1, %wf2, %bf2 : (tensor<?x4096xf32>, tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<?x4096xf32>
  %a2 = nn.relu %h2 : tensor<?x4096xf32>
  %wf3 = nn.param "fc3.weight" init(normal(0.01)) dims("features3", "classes") : tensor<4096x1000xf32>
  %bf3 = nn.param "fc3.bias" init(zeros) : tensor<1000xf32>
  %logits = nn.linear %a2, %wf3, %bf3 : (tensor<?x4096xf32>, tensor<4096x1000xf32>, tensor<1000xf32>) -> tensor<?x1000xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x1000xf32>, tensor<f32>
}
