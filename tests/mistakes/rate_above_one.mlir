// A dropout of more than everything.
// RUN: not pdc %s -o %t --batch=4 2>&1 | FileCheck %s
// CHECK: rate_above_one.mlir:[[@LINE+8]]:8: error: 'nn.dropout' op expected a rate of 0 or more and less than 1, found 1.500000e+00
// CHECK-NOT: error:
nn.model @m(%ids: tensor<?x6xi32>, %next: tensor<?x6xi32>) -> (loss: tensor<f32>) {
  %table = nn.param "table" init(normal(0.02)) : tensor<10x8xf32>
  %e = nn.embedding %table, %ids : (tensor<10x8xf32>, tensor<?x6xi32>) -> tensor<?x6x8xf32>
  %g = nn.param "ln.weight" init(ones) : tensor<8xf32>
  %z = nn.param "ln.bias" init(zeros) : tensor<8xf32>
  %n = nn.layer_norm %e, %g, %z : (tensor<?x6x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x6x8xf32>
  %d = nn.dropout %n {rate = 1.5} : (tensor<?x6x8xf32>) -> tensor<?x6x8xf32>
  %w = nn.param "head" init(kaiming) : tensor<8x10xf32>
  %logits = nn.linear %d, %w : (tensor<?x6x8xf32>, tensor<8x10xf32>) -> tensor<?x6x10xf32>
  %loss = nn.cross_entropy %logits, %next : (tensor<?x6x10xf32>, tensor<?x6xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
