// Where what is asked for leaves a value no layout, the error names the value, its op and what was asked for.
// RUN: not pdc %s --batch=8 --ranks=4 --parallel=data=4 --layout=hidden:data -o %t 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not pdc %s --batch=8 --ranks=4 --parallel=data=2,tensor=2 --layout=batch:tensor -o %t 2>&1 | FileCheck %s --check-prefix=INPUT

// WHOLE: no_layout.mlir:[[@LINE+4]]:1: error: no layout is left for parameter 'w' of nn.linear, 'tensor<64x32xf32>': what its size allows is forbidden by --layout=hidden:data; and --parallel (data=4, tensor=1, zero=0), which says what is split over data
// WHOLE-NOT: error:
// INPUT: error: no layout is left for input 'x' of nn.linear, 'tensor<8x64xf32>': what its size allows is forbidden by --layout=batch:tensor; and --parallel (data=2, tensor=2, zero=0), which splits inputs over the samples alone
// INPUT-NOT: error:
nn.model @m(%x: tensor<?x64xf32> {nn.dims = ["batch", "features"]}) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) dims("features", "hidden") : tensor<64x32xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %z = nn.tanh %y : tensor<?x32xf32>
  %loss = nn.reduce_mean %z {axes = array<i64: 0, 1>} : (tensor<?x32xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
