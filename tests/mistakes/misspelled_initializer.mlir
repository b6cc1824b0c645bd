// An initializer that does not exist.
// RUN: not pdc %s -o %t --batch=4 2>&1 | FileCheck %s
// CHECK: misspelled_initializer.mlir:[[@LINE+3]]:36: error: custom op 'nn.param' unknown initializer 'kaimming': expected one of zeros, ones, constant, normal, truncated_normal, uniform, kaiming, kaiming_uniform, xavier, xavier_normal
// CHECK-NOT: error:
nn.model @m(%x: tensor<?x8xf32>, %label: tensor<?xi32>) -> (loss: tensor<f32>, logits: tensor<?x4xf32>) {
  %w1 = nn.param "fc1.weight" init(kaimming) : tensor<8x16xf32>
  %b1 = nn.param "fc1.bias" init(zeros) : tensor<16xf32>
  %h = nn.linear %x, %w1, %b1 : (tensor<?x8xf32>, tensor<8x16xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %a = nn.relu %h : tensor<?x16xf32>
  %w2 = nn.param "fc2.weight" init(kaiming) : tensor<16x4xf32>
  %logits = nn.linear %a, %w2 : (tensor<?x16xf32>, tensor<16x4xf32>) -> tensor<?x4xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x4xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits : tensor<f32>, tensor<?x4xf32>
}
