// A plan whose input is whole on every rank and split over the batch behind it is data parallelism all the same.
// RUN: pdc %s --batch=4096 --ranks=2 --optimizer=sgd --parallel=layouts --to=plan -o %t.plan
// RUN: sed -e '/nn.step "train"/,/^  }/{s/%%x: tensor<4096x64xf32> {dist.layout = #dist.layout<\[\["data"\], /%%x: tensor<4096x64xf32> {dist.layout = #dist.layout<[[], /;s/%%x,/%%part,/;s/^ *%%0 = nn.constant/    %%part = dist.reshard %%x {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<4096x64xf32>\n&/}' %t.plan > %t.edited
// RUN: pdc %s --batch=4096 --optimizer=sgd --plan-in=%t.edited -o %t
// RUN: pdc plan %t | FileCheck %s

// CHECK: Model m: 2 ranks (data 2, tensor 1, pipeline 1, ZeRO 0)
// CHECK: x{{ +}}batch x features
nn.model @m(%x: tensor<?x64xf32> {nn.dims = ["batch", "features"]}) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) : tensor<64x32xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %z = nn.tanh %y : tensor<?x32xf32>
  %loss = nn.reduce_mean %z {axes = array<i64: 0, 1>} : (tensor<?x32xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
