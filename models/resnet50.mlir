// ResNet-50 (He et al. 2016), with the stride in the 3 x 3 convolution ("v1.5"): 25,557,032 parameters.
nn.block @stage1_first(%x: tensor<?x64x56x56xf32>) -> tensor<?x256x56x56xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<64x64x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x64x56x56xf32>, tensor<64x64x1x1xf32>) -> tensor<?x64x56x56xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<64xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<64xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<64xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<64xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x56x56xf32>
  %r1 = nn.relu %n1 : tensor<?x64x56x56xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<64x64x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<?x64x56x56xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<64xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<64xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<64xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<64xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x56x56xf32>
  %r2 = nn.relu %n2 : tensor<?x64x56x56xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<256x64x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<?x256x56x56xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<256xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<256xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<256xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<256xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x256x56x56xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32>
  %w9 = nn.param "downsample.weight" init(kaiming) : tensor<256x64x1x1xf32>
  %c9 = nn.conv2d %x, %w9 : (tensor<?x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<?x256x56x56xf32>
  %g9 = nn.param "downsample.bn.weight" init(ones) : tensor<256xf32>
  %b9 = nn.param "downsample.bn.bias" init(zeros) : tensor<256xf32>
  %m9 = nn.state "downsample.bn.running_mean" init(zeros) : tensor<256xf32>
  %v9 = nn.state "downsample.bn.running_var" init(ones) : tensor<256xf32>
  %n9 = nn.batch_norm %c9, %g9, %b9, %m9, %v9 : (tensor<?x256x56x56xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32>
  %sum = nn.add %n3, %n9 : (tensor<?x256x56x56xf32>, tensor<?x256x56x56xf32>) -> tensor<?x256x56x56xf32>
  %y = nn.relu %sum : tensor<?x256x56x56xf32>
  nn.return %y : tensor<?x256x56x56xf32>
}

nn.block @stage1_rest(%x: tensor<?x256x56x56xf32>) -> tensor<?x256x56x56xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<64x256x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x256x56x56xf32>, tensor<64x256x1x1xf32>) -> tensor<?x64x56x56xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<64xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<64xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<64xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<64xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x56x56xf32>
  %r1 = nn.relu %n1 : tensor<?x64x56x56xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<64x64x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x64x56x56xf32>, tensor<64x64x3x3xf32>) -> tensor<?x64x56x56xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<64xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<64xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<64xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<64xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x56x56xf32>
  %r2 = nn.relu %n2 : tensor<?x64x56x56xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<256x64x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x64x56x56xf32>, tensor<256x64x1x1xf32>) -> tensor<?x256x56x56xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<256xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<256xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<256xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<256xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x256x56x56xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x56x56xf32>
  %sum = nn.add %n3, %x : (tensor<?x256x56x56xf32>, tensor<?x256x56x56xf32>) -> tensor<?x256x56x56xf32>
  %y = nn.relu %sum : tensor<?x256x56x56xf32>
  nn.return %y : tensor<?x256x56x56xf32>
}

nn.block @stage2_first(%x: tensor<?x256x56x56xf32>) -> tensor<?x512x28x28xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<128x256x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x256x56x56xf32>, tensor<128x256x1x1xf32>) -> tensor<?x128x56x56xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<128xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<128xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<128xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<128xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x128x56x56xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x56x56xf32>
  %r1 = nn.relu %n1 : tensor<?x128x56x56xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<128x128x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<?x128x56x56xf32>, tensor<128x128x3x3xf32>) -> tensor<?x128x28x28xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<128xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<128xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<128xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<128xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x128x28x28xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x28x28xf32>
  %r2 = nn.relu %n2 : tensor<?x128x28x28xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<512x128x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x128x28x28xf32>, tensor<512x128x1x1xf32>) -> tensor<?x512x28x28xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<512xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<512xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<512xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<512xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x512x28x28xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x28x28xf32>
  %w9 = nn.param "downsample.weight" init(kaiming) : tensor<512x256x1x1xf32>
  %c9 = nn.conv2d %x, %w9 {stride = array<i64: 2, 2>} : (tensor<?x256x56x56xf32>, tensor<512x256x1x1xf32>) -> tensor<?x512x28x28xf32>
  %g9 = nn.param "downsample.bn.weight" init(ones) : tensor<512xf32>
  %b9 = nn.param "downsample.bn.bias" init(zeros) : tensor<512xf32>
  %m9 = nn.state "downsample.bn.running_mean" init(zeros) : tensor<512xf32>
  %v9 = nn.state "downsample.bn.running_var" init(ones) : tensor<512xf32>
  %n9 = nn.batch_norm %c9, %g9, %b9, %m9, %v9 : (tensor<?x512x28x28xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x28x28xf32>
  %sum = nn.add %n3, %n9 : (tensor<?x512x28x28xf32>, tensor<?x512x28x28xf32>) -> tensor<?x512x28x28xf32>
  %y = nn.relu %sum : tensor<?x512x28x28xf32>
  nn.return %y : tensor<?x512x28x28xf32>
}

nn.block @stage2_rest(%x: tensor<?x512x28x28xf32>) -> tensor<?x512x28x28xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<128x512x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x512x28x28xf32>, tensor<128x512x1x1xf32>) -> tensor<?x128x28x28xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<128xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<128xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<128xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<128xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x128x28x28xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x28x28xf32>
  %r1 = nn.relu %n1 : tensor<?x128x28x28xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<128x128x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x128x28x28xf32>, tensor<128x128x3x3xf32>) -> tensor<?x128x28x28xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<128xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<128xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<128xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<128xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x128x28x28xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x28x28xf32>
  %r2 = nn.relu %n2 : tensor<?x128x28x28xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<512x128x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x128x28x28xf32>, tensor<512x128x1x1xf32>) -> tensor<?x512x28x28xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<512xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<512xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<512xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<512xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x512x28x28xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x28x28xf32>
  %sum = nn.add %n3, %x : (tensor<?x512x28x28xf32>, tensor<?x512x28x28xf32>) -> tensor<?x512x28x28xf32>
  %y = nn.relu %sum : tensor<?x512x28x28xf32>
  nn.return %y : tensor<?x512x28x28xf32>
}

nn.block @stage3_first(%x: tensor<?x512x28x28xf32>) -> tensor<?x1024x14x14xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<256x512x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x512x28x28xf32>, tensor<256x512x1x1xf32>) -> tensor<?x256x28x28xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<256xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<256xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<256xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<256xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x256x28x28xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x28x28xf32>
  %r1 = nn.relu %n1 : tensor<?x256x28x28xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<256x256x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<?x256x28x28xf32>, tensor<256x256x3x3xf32>) -> tensor<?x256x14x14xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<256xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<256xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<256xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<256xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x256x14x14xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x14x14xf32>
  %r2 = nn.relu %n2 : tensor<?x256x14x14xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<1024x256x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x256x14x14xf32>, tensor<1024x256x1x1xf32>) -> tensor<?x1024x14x14xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<1024xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<1024xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<1024xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<1024xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x1024x14x14xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<?x1024x14x14xf32>
  %w9 = nn.param "downsample.weight" init(kaiming) : tensor<1024x512x1x1xf32>
  %c9 = nn.conv2d %x, %w9 {stride = array<i64: 2, 2>} : (tensor<?x512x28x28xf32>, tensor<1024x512x1x1xf32>) -> tensor<?x1024x14x14xf32>
  %g9 = nn.param "downsample.bn.weight" init(ones) : tensor<1024xf32>
  %b9 = nn.param "downsample.bn.bias" init(zeros) : tensor<1024xf32>
  %m9 = nn.state "downsample.bn.running_mean" init(zeros) : tensor<1024xf32>
  %v9 = nn.state "downsample.bn.running_var" init(ones) : tensor<1024xf32>
  %n9 = nn.batch_norm %c9, %g9, %b9, %m9, %v9 : (tensor<?x1024x14x14xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<?x1024x14x14xf32>
  %sum = nn.add %n3, %n9 : (tensor<?x1024x14x14xf32>, tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %y = nn.relu %sum : tensor<?x1024x14x14xf32>
  nn.return %y : tensor<?x1024x14x14xf32>
}

nn.block @stage3_rest(%x: tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<256x1024x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x1024x14x14xf32>, tensor<256x1024x1x1xf32>) -> tensor<?x256x14x14xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<256xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<256xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<256xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<256xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x256x14x14xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x14x14xf32>
  %r1 = nn.relu %n1 : tensor<?x256x14x14xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<256x256x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x256x14x14xf32>, tensor<256x256x3x3xf32>) -> tensor<?x256x14x14xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<256xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<256xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<256xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<256xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x256x14x14xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<?x256x14x14xf32>
  %r2 = nn.relu %n2 : tensor<?x256x14x14xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<1024x256x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x256x14x14xf32>, tensor<1024x256x1x1xf32>) -> tensor<?x1024x14x14xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<1024xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<1024xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<1024xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<1024xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x1024x14x14xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<?x1024x14x14xf32>
  %sum = nn.add %n3, %x : (tensor<?x1024x14x14xf32>, tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %y = nn.relu %sum : tensor<?x1024x14x14xf32>
  nn.return %y : tensor<?x1024x14x14xf32>
}

nn.block @stage4_first(%x: tensor<?x1024x14x14xf32>) -> tensor<?x2048x7x7xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<512x1024x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x1024x14x14xf32>, tensor<512x1024x1x1xf32>) -> tensor<?x512x14x14xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<512xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<512xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<512xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<512xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x512x14x14xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x14x14xf32>
  %r1 = nn.relu %n1 : tensor<?x512x14x14xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<?x512x14x14xf32>, tensor<512x512x3x3xf32>) -> tensor<?x512x7x7xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<512xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<512xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<512xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<512xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x512x7x7xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x7x7xf32>
  %r2 = nn.relu %n2 : tensor<?x512x7x7xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<2048x512x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x512x7x7xf32>, tensor<2048x512x1x1xf32>) -> tensor<?x2048x7x7xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<2048xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<2048xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<2048xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<2048xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x2048x7x7xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>) -> tensor<?x2048x7x7xf32>
  %w9 = nn.param "downsample.weight" init(kaiming) : tensor<2048x1024x1x1xf32>
  %c9 = nn.conv2d %x, %w9 {stride = array<i64: 2, 2>} : (tensor<?x1024x14x14xf32>, tensor<2048x1024x1x1xf32>) -> tensor<?x2048x7x7xf32>
  %g9 = nn.param "downsample.bn.weight" init(ones) : tensor<2048xf32>
  %b9 = nn.param "downsample.bn.bias" init(zeros) : tensor<2048xf32>
  %m9 = nn.state "downsample.bn.running_mean" init(zeros) : tensor<2048xf32>
  %v9 = nn.state "downsample.bn.running_var" init(ones) : tensor<2048xf32>
  %n9 = nn.batch_norm %c9, %g9, %b9, %m9, %v9 : (tensor<?x2048x7x7xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>) -> tensor<?x2048x7x7xf32>
  %sum = nn.add %n3, %n9 : (tensor<?x2048x7x7xf32>, tensor<?x2048x7x7xf32>) -> tensor<?x2048x7x7xf32>
  %y = nn.relu %sum : tensor<?x2048x7x7xf32>
  nn.return %y : tensor<?x2048x7x7xf32>
}

nn.block @stage4_rest(%x: tensor<?x2048x7x7xf32>) -> tensor<?x2048x7x7xf32> {
  %w1 = nn.param "conv1.weight" init(kaiming) : tensor<512x2048x1x1xf32>
  %c1 = nn.conv2d %x, %w1 : (tensor<?x2048x7x7xf32>, tensor<512x2048x1x1xf32>) -> tensor<?x512x7x7xf32>
  %g1 = nn.param "bn1.weight" init(ones) : tensor<512xf32>
  %b1 = nn.param "bn1.bias" init(zeros) : tensor<512xf32>
  %m1 = nn.state "bn1.running_mean" init(zeros) : tensor<512xf32>
  %v1 = nn.state "bn1.running_var" init(ones) : tensor<512xf32>
  %n1 = nn.batch_norm %c1, %g1, %b1, %m1, %v1 : (tensor<?x512x7x7xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x7x7xf32>
  %r1 = nn.relu %n1 : tensor<?x512x7x7xf32>
  %w2 = nn.param "conv2.weight" init(kaiming) : tensor<512x512x3x3xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x512x7x7xf32>, tensor<512x512x3x3xf32>) -> tensor<?x512x7x7xf32>
  %g2 = nn.param "bn2.weight" init(ones) : tensor<512xf32>
  %b2 = nn.param "bn2.bias" init(zeros) : tensor<512xf32>
  %m2 = nn.state "bn2.running_mean" init(zeros) : tensor<512xf32>
  %v2 = nn.state "bn2.running_var" init(ones) : tensor<512xf32>
  %n2 = nn.batch_norm %c2, %g2, %b2, %m2, %v2 : (tensor<?x512x7x7xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) -> tensor<?x512x7x7xf32>
  %r2 = nn.relu %n2 : tensor<?x512x7x7xf32>
  %w3 = nn.param "conv3.weight" init(kaiming) : tensor<2048x512x1x1xf32>
  %c3 = nn.conv2d %r2, %w3 : (tensor<?x512x7x7xf32>, tensor<2048x512x1x1xf32>) -> tensor<?x2048x7x7xf32>
  %g3 = nn.param "bn3.weight" init(ones) : tensor<2048xf32>
  %b3 = nn.param "bn3.bias" init(zeros) : tensor<2048xf32>
  %m3 = nn.state "bn3.running_mean" init(zeros) : tensor<2048xf32>
  %v3 = nn.state "bn3.running_var" init(ones) : tensor<2048xf32>
  %n3 = nn.batch_norm %c3, %g3, %b3, %m3, %v3 : (tensor<?x2048x7x7xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>) -> tensor<?x2048x7x7xf32>
  %sum = nn.add %n3, %x : (tensor<?x2048x7x7xf32>, tensor<?x2048x7x7xf32>) -> tensor<?x2048x7x7xf32>
  %y = nn.relu %sum : tensor<?x2048x7x7xf32>
  nn.return %y : tensor<?x2048x7x7xf32>
}

nn.model @resnet50(%image: tensor<?x3x224x224xf32> {nn.dims = ["batch", "channels", "height", "width"]},
                  %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x1000xf32>, accuracy: tensor<f32>) {
  %w0 = nn.param "conv1.weight" init(kaiming) : tensor<64x3x7x7xf32>
  %c0 = nn.conv2d %image, %w0 {stride = array<i64: 2, 2>, padding = array<i64: 3, 3, 3, 3>} : (tensor<?x3x224x224xf32>, tensor<64x3x7x7xf32>) -> tensor<?x64x112x112xf32>
  %g0 = nn.param "bn1.weight" init(ones) : tensor<64xf32>
  %b0 = nn.param "bn1.bias" init(zeros) : tensor<64xf32>
  %m0 = nn.state "bn1.running_mean" init(zeros) : tensor<64xf32>
  %v0 = nn.state "bn1.running_var" init(ones) : tensor<64xf32>
  %n0 = nn.batch_norm %c0, %g0, %b0, %m0, %v0 : (tensor<?x64x112x112xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x112x112xf32>
  %r0 = nn.relu %n0 : tensor<?x64x112x112xf32>
  %p0 = nn.max_pool2d %r0 {kernel = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>} : (tensor<?x64x112x112xf32>) -> tensor<?x64x56x56xf32>
  %s1 = nn.call @stage1_first "layer1.0." (%p0) : (tensor<?x64x56x56xf32>) -> tensor<?x256x56x56xf32>
  %s2 = nn.call @stage1_rest "layer1.1." (%s1) : (tensor<?x256x56x56xf32>) -> tensor<?x256x56x56xf32>
  %s3 = nn.call @stage1_rest "layer1.2." (%s2) : (tensor<?x256x56x56xf32>) -> tensor<?x256x56x56xf32>
  %s4 = nn.call @stage2_first "layer2.0." (%s3) : (tensor<?x256x56x56xf32>) -> tensor<?x512x28x28xf32>
  %s5 = nn.call @stage2_rest "layer2.1." (%s4) : (tensor<?x512x28x28xf32>) -> tensor<?x512x28x28xf32>
  %s6 = nn.call @stage2_rest "layer2.2." (%s5) : (tensor<?x512x28x28xf32>) -> tensor<?x512x28x28xf32>
  %s7 = nn.call @stage2_rest "layer2.3." (%s6) : (tensor<?x512x28x28xf32>) -> tensor<?x512x28x28xf32>
  %s8 = nn.call @stage3_first "layer3.0." (%s7) : (tensor<?x512x28x28xf32>) -> tensor<?x1024x14x14xf32>
  %s9 = nn.call @stage3_rest "layer3.1." (%s8) : (tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %s10 = nn.call @stage3_rest "layer3.2." (%s9) : (tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %s11 = nn.call @stage3_rest "layer3.3." (%s10) : (tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %s12 = nn.call @stage3_rest "layer3.4." (%s11) : (tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %s13 = nn.call @stage3_rest "layer3.5." (%s12) : (tensor<?x1024x14x14xf32>) -> tensor<?x1024x14x14xf32>
  %s14 = nn.call @stage4_first "layer4.0." (%s13) : (tensor<?x1024x14x14xf32>) -> tensor<?x2048x7x7xf32>
  %s15 = nn.call @stage4_rest "layer4.1." (%s14) : (tensor<?x2048x7x7xf32>) -> tensor<?x2048x7x7xf32>
  %s16 = nn.call @stage4_rest "layer4.2." (%s15) : (tensor<?x2048x7x7xf32>) -> tensor<?x2048x7x7xf32>
  %pool = nn.global_avg_pool2d %s16 : (tensor<?x2048x7x7xf32>) -> tensor<?x2048xf32>
  %wf = nn.param "fc.weight" init(normal(0.01)) dims("features", "classes") : tensor<2048x1000xf32>
  %bf = nn.param "fc.bias" init(zeros) dims("classes") : tensor<1000xf32>
  %logits = nn.linear %pool, %wf, %bf : (tensor<?x2048xf32>, tensor<2048x1000xf32>, tensor<1000xf32>) -> tensor<?x1000xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x1000xf32>, tensor<f32>
}
