// Several values that nothing defines, in one error.
// RUN: not pdc %s -o %t --batch=4 2>&1 | FileCheck %s
// CHECK: undefined_values.mlir:[[@LINE+6]]:16: error: use of undeclared SSA value name %hidden, and of 2 others: %w3, %b3
// CHECK-NOT: error:
nn.model @m(%x: tensor<?x8xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>, logits: tensor<?x4xf32>) {
  %w1 = nn.param "fc1.weight" init(kaiming) : tensor<8x16xf32>
  %b1 = nn.param "fc1.bias" init(zeros) : tensor<16xf32>
  %h = nn.linear %x, %w1, %b1 : (tensor<?x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %a = nn.relu %hidden : tensor<?x16xf32>
  %logits = nn.linear %a, %w3, %b3 : (tensor<?x16xf32>, tensor<16x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits : tensor<f32>, tensor<?x4xf32>
}
