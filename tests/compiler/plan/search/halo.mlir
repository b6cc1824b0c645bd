// A large image on two devices: convolutions are split by height, and each device gets its neighbour's row at the border, since
// sums of activations, for a split by filters, are larger.
// RUN: pdc %s --batch=1 --ranks=2 --cluster=dgx_h100:nodes=1 --optimizer=sgd -o %t --plan-out=%t.plan
// RUN: FileCheck %s --input-file=%t.plan
// RUN: pdc plan %t --format=remarks | FileCheck %s --check-prefix=REMARK
// RUN: pdc plan %t --show=x | FileCheck %s --check-prefix=SHOW

// CHECK: nn.step "train"
// CHECK-COUNT-3: nn.conv2d {{.*}}#dist.layout<{{\[\[\], \[\], \["data"\], \[\]\]}}>
// CHECK: nn.step "{{gradient|evaluate}}"
// 32 channels of a row of 256 numbers of 4 bytes.
// REMARK-COUNT-3: remark: halo_exchange over data: conv2d has windows that reach into neighbours' parts along h; 32.00 KiB
// SHOW: x: batch 1 x channels 32 x height 256 x width 256
nn.model @m(%x: tensor<?x32x256x256xf32> {nn.dims = ["batch", "channels", "height", "width"]}) -> (loss: tensor<f32>) {
  %w1 = nn.param "w1" init(kaiming) : tensor<32x32x3x3xf32>
  %w2 = nn.param "w2" init(kaiming) : tensor<32x32x3x3xf32>
  %w3 = nn.param "w3" init(kaiming) : tensor<32x32x3x3xf32>
  %c1 = nn.conv2d %x, %w1 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x32x256x256xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x256x256xf32>
  %r1 = nn.relu %c1 : tensor<?x32x256x256xf32>
  %c2 = nn.conv2d %r1, %w2 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x32x256x256xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x256x256xf32>
  %r2 = nn.relu %c2 : tensor<?x32x256x256xf32>
  %c3 = nn.conv2d %r2, %w3 {padding = array<i64: 1, 1, 1, 1>} : (tensor<?x32x256x256xf32>, tensor<32x32x3x3xf32>) -> tensor<?x32x256x256xf32>
  %s = nn.mul %c3, %c3 : (tensor<?x32x256x256xf32>, tensor<?x32x256x256xf32>) -> tensor<?x32x256x256xf32>
  %loss = nn.reduce_mean %s {axes = array<i64: 0, 1, 2, 3>} : (tensor<?x32x256x256xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
