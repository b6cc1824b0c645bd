// Where the batch is split, each rank reads its own samples: a whole input could be cut for free, but is not read whole.
// RUN: pdc %s --batch=4096 --ranks=2 --optimizer=sgd --parallel=layouts -o %t
// RUN: pdc plan %t | FileCheck %s

// CHECK: Model m: 2 ranks (data 2, tensor 1, pipeline 1, ZeRO 0)
// CHECK: Layouts
// CHECK: x{{ +}}batch/data x features
// CHECK: Decisions
// CHECK: layout of input x: [data, -] rather than whole
nn.model @m(%x: tensor<?x64xf32> {nn.dims = ["batch", "features"]}) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) : tensor<64x32xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %z = nn.tanh %y : tensor<?x32xf32>
  %loss = nn.reduce_mean %z {axes = array<i64: 0, 1>} : (tensor<?x32xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
