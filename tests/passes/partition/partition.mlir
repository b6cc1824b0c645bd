// RUN: pdc-opt %s -plan-data-parallel="ranks=2" -partition -verify-partitioned | FileCheck %s

// CHECK: nn.step "{{.*}}" @reference_gradient(%{{.*}}: tensor<5x4xf32>
// CHECK: nn.step "{{.*}}" @gradient(%{{.*}}: tensor<3x4xf32>
// CHECK-SAME: dist.ranks = array<i64: 0>
// CHECK: nn.step "{{.*}}" @gradient_1(%{{.*}}: tensor<2x4xf32>
// CHECK-SAME: dist.ranks = array<i64: 1>
nn.step "gradient" @gradient(%x: tensor<5x4xf32> {nn.role = "input", nn.name = "x"},
                  %dy: tensor<5x2xf32> {nn.role = "input", nn.name = "dy"})
    -> (tensor<4x2xf32> {nn.role = "gradient", nn.name = "w"}) {
  // CHECK: %[[DW:.*]] = nn.linear_grad_weight {{.*}} : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  // CHECK: %[[SUM:.*]] = dist.all_reduce sum over @mesh ["data"](%[[DW]]) {dist.order = 0 : i64} : tensor<4x2xf32>
  // CHECK: nn.return %[[SUM]]
  %dw = nn.linear_grad_weight %x, %dy : (tensor<5x4xf32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  nn.return %dw : tensor<4x2xf32>
}
