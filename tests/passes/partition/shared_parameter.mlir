// RUN: pdc-opt %s -plan-data-parallel="ranks=2" -partition | FileCheck %s

// The gradient of a parameter that is used twice is reduced once.
// CHECK: nn.step "train" @train
// CHECK: %[[SUM:.*]] = nn.add
// CHECK-NEXT: dist.all_reduce sum over @mesh ["data"](%[[SUM]]) {dist.order = 0 : i64} : tensor<4x2xf32>
// CHECK-NOT: dist.all_reduce
nn.step "train" @train(%x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"},
               %dy: tensor<4x2xf32> {nn.role = "input", nn.name = "dy"})
    -> (tensor<4x2xf32> {nn.role = "gradient", nn.name = "w"}) {
  %0 = nn.linear_grad_weight %x, %dy : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = nn.relu %x : tensor<4x4xf32>
  %2 = nn.linear_grad_weight %1, %dy : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %3 = nn.add %0, %2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %3 : tensor<4x2xf32>
}
