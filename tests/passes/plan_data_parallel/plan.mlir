// RUN: pdc-opt %s -plan-data-parallel="ranks=2" | FileCheck %s

// CHECK: dist.mesh @mesh axes(["data" = 2])
// CHECK: nn.step "{{.*}}" @gradient
// CHECK-SAME: dist.layout = #dist.layout<{{\[\[}}"data"], []]>
nn.step "gradient" @gradient(%x: tensor<8x4xf32> {nn.role = "input", nn.name = "x"},
                  %dy: tensor<8x2xf32> {nn.role = "input", nn.name = "dy"})
    -> (tensor<4x2xf32> {nn.role = "gradient", nn.name = "w"}) {
  // CHECK: %[[DW:.*]] = nn.linear_grad_weight {{.*}} {dist.layouts = [#dist.layout<{{\[\[}}], []], sum = ["data"]>]}
  // CHECK: %[[SUM:.*]] = dist.reshard %[[DW]] {dist.layouts = [#dist.layout<{{\[\[}}], []]>]} : tensor<4x2xf32>
  %dw = nn.linear_grad_weight %x, %dy : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  // CHECK: nn.return %[[SUM]]
  nn.return %dw : tensor<4x2xf32>
}
