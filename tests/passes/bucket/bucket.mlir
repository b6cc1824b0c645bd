// RUN: pdc-opt %s -bucket | FileCheck %s
// RUN: pdc-opt %s -bucket="bytes=32" | FileCheck %s --check-prefix=SMALL

dist.mesh @mesh axes(["data" = 2])
// The optimizer's ops, here relu, move behind the last all-reduce; statistics that a gradient depends on are urgent.
// CHECK-LABEL: nn.step "train" @train
// CHECK: %[[STAT:.*]] = dist.all_reduce sum over @mesh ["data"](%arg0) : tensor<4x2xf32>
// CHECK-NEXT: %[[G:.*]] = nn.tanh %[[STAT]]
// CHECK-NEXT: %[[ALL:.*]]:2 = dist.all_reduce sum over @mesh ["data"](%arg1, %[[G]]) {bucket = 0 : i64} : tensor<2xf32>, tensor<4x2xf32>
// CHECK-NEXT: %[[U:.*]] = nn.relu %[[ALL]]#0
// CHECK-NEXT: nn.return %[[U]], %[[ALL]]#1
// SMALL-LABEL: nn.step "train" @train
// SMALL: {bucket = 0 : i64} : tensor<2xf32>, tensor<4x2xf32>
nn.step "train" @train(%arg0: tensor<4x2xf32> {nn.role = "input", nn.name = "arg0"},
                        %arg1: tensor<2xf32> {nn.role = "input", nn.name = "arg1"})
    -> (tensor<2xf32> {nn.role = "output", nn.name = "a"}, tensor<4x2xf32> {nn.role = "output", nn.name = "b"}) {
  %0 = dist.all_reduce sum over @mesh ["data"] (%arg0) : tensor<4x2xf32>
  %1 = dist.all_reduce sum over @mesh ["data"] (%arg1) : tensor<2xf32>
  %2 = nn.relu %1 : tensor<2xf32>
  %3 = nn.tanh %0 : tensor<4x2xf32>
  %4 = dist.all_reduce sum over @mesh ["data"] (%3) : tensor<4x2xf32>
  nn.return %2, %4 : tensor<2xf32>, tensor<4x2xf32>
}

// What stands before a barrier, so before something that is computed again, stays: what it needs must not live until the end.
// CHECK-LABEL: nn.step "gradient" @again
// CHECK: %[[SUM:.*]] = dist.all_reduce sum over @mesh ["data"](%arg0) : tensor<4x2xf32>
// CHECK-NEXT: %[[KEPT:.*]] = nn.relu %[[SUM]]
// CHECK-NEXT: %[[BARRIER:.*]] = dist.optimization_barrier %[[SUM]]
// CHECK-NEXT: %[[G:.*]] = nn.tanh %[[BARRIER]]
// CHECK-NEXT: %[[OTHER:.*]] = dist.all_reduce sum over @mesh ["data"](%[[G]])
// CHECK-NEXT: nn.return %[[KEPT]], %[[OTHER]]
nn.step "gradient" @again(%arg0: tensor<4x2xf32> {nn.role = "input", nn.name = "arg0"})
    -> (tensor<4x2xf32> {nn.role = "output", nn.name = "a"}, tensor<4x2xf32> {nn.role = "output", nn.name = "b"}) {
  %0 = dist.all_reduce sum over @mesh ["data"] (%arg0) : tensor<4x2xf32>
  %1 = nn.relu %0 : tensor<4x2xf32>
  %2 = dist.optimization_barrier %0 : tensor<4x2xf32>
  %3 = nn.tanh %2 : tensor<4x2xf32>
  %4 = dist.all_reduce sum over @mesh ["data"] (%3) : tensor<4x2xf32>
  nn.return %1, %4 : tensor<4x2xf32>, tensor<4x2xf32>
}
