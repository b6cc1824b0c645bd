// ZeRO's stages are layouts: of the optimizer state, of the gradient too, of the parameter too.
// RUN: pdc %s --batch=8 --ranks=2 --optimizer=momentum --parallel=zero1 --to=plan | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: pdc %s --batch=8 --ranks=2 --optimizer=momentum --parallel=zero3 --to=plan | FileCheck %s --check-prefixes=CHECK,THREE

// CHECK: dist.mesh @mesh axes(["data" = 2])
// CHECK: nn.step "train" @train(
// ONE-SAME: %w: tensor<64x32xf32> {dist.layout = #dist.layout<{{\[\[\], \[\]\]}}>
// ONE-SAME: {dist.layout = #dist.layout<{{[^>]*}}"data"{{[^>]*}}>, nn.init = #nn.init<zeros>, nn.name = "w", nn.role = "optimizer_state"
// THREE-SAME: %w: tensor<64x32xf32> {dist.layout = #dist.layout<{{[^>]*}}"data"
// CHECK-SAME: %x: tensor<8x64xf32> {dist.layout = #dist.layout<{{\[\["data"\], \[\]\]}}>
nn.model @m(%x: tensor<?x64xf32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) : tensor<64x32xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %loss = nn.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<?x32xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
