// Tensor parallelism finds Megatron's split of a perceptron: columns, then rows, and one sum at the end.
// RUN: pdc %s --batch=8 --ranks=2 --optimizer=sgd --parallel=tensor --to=plan | FileCheck %s

// CHECK: dist.mesh @mesh axes(["tensor" = 2])
// CHECK: nn.step "train" @train(
// CHECK: nn.linear %x, %{{.*}} {dist.layouts = [#dist.layout<{{\[\[\], \["tensor"\]\]}}>]} : (tensor<8x512xf32>, tensor<512x2048xf32>)
// CHECK: %[[SUM:.*]] = nn.linear %{{.*}}, %{{.*}} {dist.layouts = [#dist.layout<{{\[\[\], \[\]\]}}, sum = ["tensor"]>]} : (tensor<8x2048xf32>, tensor<2048x512xf32>)
// CHECK: dist.reshard %[[SUM]]
nn.model @perceptron(%x: tensor<?x512xf32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "fc1.weight" init(kaiming) : tensor<512x2048xf32>
  %w2 = nn.param "fc2.weight" init(kaiming) : tensor<2048x512xf32>
  %h = nn.linear %x, %w1 : (tensor<?x512xf32>, tensor<512x2048xf32>) -> tensor<?x2048xf32>
  %a = nn.relu %h : tensor<?x2048xf32>
  %y = nn.linear %a, %w2 : (tensor<?x2048xf32>, tensor<2048x512xf32>) -> tensor<?x512xf32>
  %s = nn.mul %y, %y : (tensor<?x512xf32>, tensor<?x512xf32>) -> tensor<?x512xf32>
  %loss = nn.reduce_mean %s {axes = array<i64: 0, 1>} : (tensor<?x512xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
