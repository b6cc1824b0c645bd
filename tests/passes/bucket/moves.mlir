// RUN: pdc-opt %s -bucket -split-input-file | FileCheck %s
// RUN: pdc-opt %s -bucket="small-bytes=0" -split-input-file | FileCheck %s --check-prefix=APART

// Two parts of 3 and 2 rows, and of 2 and 1 elements, travel as one message of 8 and 5; the values are cut out of it.
// CHECK-LABEL: nn.step "infer" @gather
// CHECK: %[[A:.*]] = nn.reshape %a : tensor<3x2xf32> to tensor<6xf32>
// CHECK: %[[MINE:.*]] = nn.concat %[[A]], %b {axis = 0 : i64} : (tensor<6xf32>, tensor<2xf32>) -> tensor<8xf32>
// CHECK: %[[ALL:.*]] = dist.all_gather over @mesh ["data"] dim 0(%[[MINE]]) {dist.order = 1 : i64, sizes = array<i64: 8, 5>} : tensor<8xf32> to tensor<13xf32>
// CHECK: %[[A0:.*]] = nn.slice %[[ALL]] {offsets = array<i64: 0>, sizes = array<i64: 6>
// CHECK: %[[A0R:.*]] = nn.reshape %[[A0]] : tensor<6xf32> to tensor<3x2xf32>
// CHECK: %[[A1:.*]] = nn.slice %[[ALL]] {offsets = array<i64: 8>, sizes = array<i64: 4>
// CHECK: %[[A1R:.*]] = nn.reshape %[[A1]] : tensor<4xf32> to tensor<2x2xf32>
// CHECK: %[[WHOLE_A:.*]] = nn.concat %[[A0R]], %[[A1R]] {axis = 0 : i64}
// CHECK: %[[B0:.*]] = nn.slice %[[ALL]] {offsets = array<i64: 6>, sizes = array<i64: 2>
// CHECK: %[[B1:.*]] = nn.slice %[[ALL]] {offsets = array<i64: 12>, sizes = array<i64: 1>
// CHECK: %[[WHOLE_B:.*]] = nn.concat %[[B0]], %[[B1]] {axis = 0 : i64}
// CHECK: nn.return %[[WHOLE_A]], %[[WHOLE_B]]
// APART-LABEL: nn.step "infer" @gather
// APART-COUNT-2: dist.all_gather
// APART-NOT: nn.concat
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @gather(%a: tensor<3x2xf32> {nn.role = "input", nn.name = "a"}, %b: tensor<2xf32> {nn.role = "input", nn.name = "b"})
    -> (a: tensor<5x2xf32> {nn.role = "output"}, b: tensor<3xf32> {nn.role = "output"}) {
  %0 = dist.all_gather over @mesh ["data"] dim 0(%a) {dist.order = 0 : i64, sizes = array<i64: 3, 2>} : tensor<3x2xf32> to tensor<5x2xf32>
  %1 = dist.all_gather over @mesh ["data"] dim 0(%b) {dist.order = 1 : i64, sizes = array<i64: 2, 1>} : tensor<2xf32> to tensor<3xf32>
  nn.return %0, %1 : tensor<5x2xf32>, tensor<3xf32>
}

// -----

// Columns of the first and elements of the second: each member's block has both.
// CHECK-LABEL: nn.step "infer" @scatter
// CHECK: nn.slice %a {offsets = array<i64: 0, 0>, sizes = array<i64: 2, 2>
// CHECK: nn.slice %b {offsets = array<i64: 0>, sizes = array<i64: 2>
// CHECK: nn.slice %a {offsets = array<i64: 0, 2>, sizes = array<i64: 2, 2>
// CHECK: nn.slice %b {offsets = array<i64: 2>, sizes = array<i64: 2>
// CHECK: %[[SENT:.*]] = nn.concat {{.*}} -> tensor<12xf32>
// CHECK: %[[MINE:.*]] = dist.reduce_scatter sum over @mesh ["data"] dim 0(%[[SENT]]) {sizes = array<i64: 6, 6>} : tensor<12xf32> to tensor<6xf32>
// CHECK: %[[A:.*]] = nn.slice %[[MINE]] {offsets = array<i64: 0>, sizes = array<i64: 4>
// CHECK: nn.reshape %[[A]] : tensor<4xf32> to tensor<2x2xf32>
// CHECK: nn.slice %[[MINE]] {offsets = array<i64: 4>, sizes = array<i64: 2>
// CHECK-NOT: dist.reduce_scatter
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @scatter(%a: tensor<2x4xf32> {nn.role = "input", nn.name = "a"}, %b: tensor<4xf32> {nn.role = "input", nn.name = "b"})
    -> (a: tensor<2x2xf32> {nn.role = "output"}, b: tensor<2xf32> {nn.role = "output"}) {
  %0 = dist.reduce_scatter sum over @mesh ["data"] dim 1(%a) : tensor<2x4xf32> to tensor<2x2xf32>
  %1 = dist.reduce_scatter sum over @mesh ["data"] dim 0(%b) : tensor<4xf32> to tensor<2xf32>
  nn.return %0, %1 : tensor<2x2xf32>, tensor<2xf32>
}

// -----

// What the second one waits for, or other ranks, or another reduction: no message is shared.
// CHECK-LABEL: nn.step "infer" @apart
// CHECK-NOT: nn.concat
// CHECK: nn.return
dist.mesh @mesh axes(["x" = 2, "y" = 2])
nn.step "infer" @apart(%a: tensor<2xf32> {nn.role = "input", nn.name = "a"}, %b: tensor<4xf32> {nn.role = "input", nn.name = "b"})
    -> (a: tensor<8xf32> {nn.role = "output"}, b: tensor<4xf32> {nn.role = "output"}, c: tensor<2xf32> {nn.role = "output"}, d: tensor<2xf32> {nn.role = "output"}) {
  %0 = dist.all_gather over @mesh ["x"] dim 0(%a) : tensor<2xf32> to tensor<4xf32>
  %1 = nn.relu %0 : tensor<4xf32>
  %2 = dist.all_gather over @mesh ["x"] dim 0(%1) : tensor<4xf32> to tensor<8xf32>
  %3 = dist.all_gather over @mesh ["y"] dim 0(%a) : tensor<2xf32> to tensor<4xf32>
  %4 = dist.reduce_scatter sum over @mesh ["x"] dim 0(%b) : tensor<4xf32> to tensor<2xf32>
  %5 = dist.reduce_scatter max over @mesh ["x"] dim 0(%b) : tensor<4xf32> to tensor<2xf32>
  nn.return %2, %3, %4, %5 : tensor<8xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>
}
