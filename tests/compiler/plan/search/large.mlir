// Sizes of more than 2^40 bytes are counted as they are. A rank of eight has, with ZeRO 3, an eighth of a parameter of
// 2^42 bytes and of its gradient, a sample of the input and of the product, 2^22 bytes each, and the loss:
// 2 * 2^39 + 2 * 2^22 + 4 bytes.
// RUN: pdc compare %s --batch=8 --ranks=8 --optimizer=sgd --format=json | FileCheck %s

// CHECK: "memory": 1099520016388
nn.model @large(%x: tensor<?x1048576xf32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) : tensor<1048576x1048576xf32>
  %y = nn.linear %x, %w : (tensor<?x1048576xf32>, tensor<1048576x1048576xf32>) -> tensor<?x1048576xf32>
  %loss = nn.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<?x1048576xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
