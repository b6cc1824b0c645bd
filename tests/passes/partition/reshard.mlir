// RUN: pdc-opt %s -split-input-file -partition -verify-partitioned | FileCheck %s

dist.mesh @mesh axes(["x" = 2, "y" = 2])
// Each kind of way, with sizes that divide.
// CHECK-LABEL: nn.step "infer" @kinds(
// CHECK-SAME: %[[A:[a-z]+]]: tensor<4x8xf32>
// CHECK-DAG: dist.all_gather over @mesh ["x"] dim 0(%[[A]]) {dist.order = {{[0-9]+}} : i64, sizes = array<i64: 4, 4>} : tensor<4x8xf32> to tensor<8x8xf32>
// CHECK-DAG: dist.all_to_all over @mesh ["x"] split 1 concat 0(%[[A]]) {concat_sizes = array<i64: 4, 4>, dist.order = {{[0-9]+}} : i64, split_sizes = array<i64: 4, 4>} : tensor<4x8xf32> to tensor<8x4xf32>
// CHECK-DAG: dist.slice over @mesh ["y"] dim 1(%[[A]]) {sizes = array<i64: 4, 4>} : tensor<4x8xf32> to tensor<4x4xf32>
nn.step "infer" @kinds(%a: tensor<8x8xf32> {nn.role = "parameter", nn.name = "a", dist.layout = #dist.layout<[["x"], []]>})
    -> (tensor<8x8xf32> {nn.role = "output", nn.name = "b"},
        tensor<8x8xf32> {nn.role = "output", nn.name = "c", dist.layout = #dist.layout<[[], ["x"]]>},
        tensor<8x8xf32> {nn.role = "output", nn.name = "d", dist.layout = #dist.layout<[["x"], ["y"]]>})
    attributes {dist.mesh = @mesh} {
  %b = dist.reshard %a {dist.layouts = [#dist.layout<[[], []]>]} : tensor<8x8xf32>
  %c = dist.reshard %a {dist.layouts = [#dist.layout<[[], ["x"]]>]} : tensor<8x8xf32>
  %d = dist.reshard %a {dist.layouts = [#dist.layout<[["x"], ["y"]]>]} : tensor<8x8xf32>
  nn.return %b, %c, %d : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

dist.mesh @mesh axes(["data" = 2])
// ZeRO 1: the gradient is reduce-scattered, the parameter sliced, updated by parts and gathered. Five rows: 3 and 2.
// CHECK-LABEL: nn.step "train" @train(
// CHECK-SAME: %[[W:w]]: tensor<5x2xf32>
// CHECK: %[[DW:.*]] = nn.linear_grad_weight {{.*}} -> tensor<5x2xf32>
// CHECK-DAG: %[[G:.*]] = dist.reduce_scatter sum over @mesh ["data"] dim 0(%[[DW]]) {dist.order = {{[0-9]+}} : i64, sizes = array<i64: 3, 2>} : tensor<5x2xf32> to tensor<3x2xf32>
// CHECK-DAG: %[[S:.*]] = dist.slice over @mesh ["data"] dim 0(%[[W]]) {sizes = array<i64: 3, 2>} : tensor<5x2xf32> to tensor<3x2xf32>
// CHECK: %[[U:.*]] = nn.sub %[[S]], %[[G]] : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: %[[N:.*]] = dist.all_gather over @mesh ["data"] dim 0(%[[U]]) {dist.order = {{[0-9]+}} : i64, sizes = array<i64: 3, 2>} : tensor<3x2xf32> to tensor<5x2xf32>
// CHECK: nn.return %[[N]]
// CHECK-LABEL: nn.step "train" @train_1(
// CHECK: dist.reduce_scatter {{.*}} {dist.order = {{[0-9]+}} : i64, sizes = array<i64: 3, 2>} : tensor<5x2xf32> to tensor<2x2xf32>
nn.step "train" @train(%x: tensor<4x5xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>},
                       %dy: tensor<4x2xf32> {nn.role = "input", nn.name = "dy", dist.layout = #dist.layout<[["data"], []]>},
                       %w: tensor<5x2xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<5x2xf32> {nn.role = "parameter", nn.name = "w"}) attributes {dist.mesh = @mesh} {
  %dw = nn.linear_grad_weight %x, %dy {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<4x5xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
  %g = dist.reshard %dw {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<5x2xf32>
  %p = dist.reshard %w {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<5x2xf32>
  %u = nn.sub %p, %g {dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<5x2xf32>, tensor<5x2xf32>) -> tensor<5x2xf32>
  %n = dist.reshard %u {dist.layouts = [#dist.layout<[[], []]>]} : tensor<5x2xf32>
  nn.return %n : tensor<5x2xf32>
}

// -----

dist.mesh @mesh axes(["data" = 2])
// Partial sums are added, scaled and transposed before they are reduced.
// CHECK-LABEL: nn.step "infer" @partial(
// CHECK: %[[A:.*]] = nn.reduce_sum
// CHECK: %[[B:.*]] = nn.add %[[A]], %[[A]]
// CHECK: %[[C:.*]] = nn.transpose %[[B]]
// CHECK: dist.all_reduce sum over @mesh ["data"](%[[C]])
// CHECK-NOT: dist.all_reduce
nn.step "infer" @partial(%x: tensor<4x2x3xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], [], []]>})
    -> (tensor<3x2xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh} {
  %a = nn.reduce_sum %x {axes = array<i64: 0>, dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<4x2x3xf32>) -> tensor<2x3xf32>
  %b = nn.add %a, %a {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %c = nn.transpose %b {permutation = array<i64: 1, 0>, dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %d = dist.reshard %c {dist.layouts = [#dist.layout<[[], []]>]} : tensor<3x2xf32>
  nn.return %d : tensor<3x2xf32>
}

// -----

dist.mesh @mesh axes(["data" = 2, "tensor" = 2])
// A rank loads whole samples, the same ones for all inputs; what is split in another way is sliced behind.
// CHECK-LABEL: nn.step "infer" @inputs(
// CHECK-SAME: %[[X:x]]: tensor<2x6xf32>
// CHECK-SAME: %[[Y:y]]: tensor<2x6xf32>
// CHECK-DAG: dist.slice over @mesh ["tensor"] dim 1(%[[X]]) {{.*}} : tensor<2x6xf32> to tensor<2x3xf32>
// CHECK-DAG: dist.slice over @mesh ["tensor"] dim 0(%[[Y]]) {{.*}} : tensor<2x6xf32> to tensor<1x6xf32>
nn.step "infer" @inputs(
    %x: tensor<4x6xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], ["tensor"]]>},
    %y: tensor<4x6xf32> {nn.role = "input", nn.name = "y", dist.layout = #dist.layout<[["data", "tensor"], []]>})
    -> (tensor<4x6xf32> {nn.role = "output", nn.name = "a", dist.layout = #dist.layout<[["data"], ["tensor"]]>},
        tensor<4x6xf32> {nn.role = "output", nn.name = "b", dist.layout = #dist.layout<[["data", "tensor"], []]>})
    attributes {dist.mesh = @mesh} {
  %a = nn.relu %x {dist.layouts = [#dist.layout<[["data"], ["tensor"]]>]} : tensor<4x6xf32>
  %b = nn.relu %y {dist.layouts = [#dist.layout<[["data", "tensor"], []]>]} : tensor<4x6xf32>
  nn.return %a, %b : tensor<4x6xf32>, tensor<4x6xf32>
}

// -----

dist.mesh @mesh axes(["data" = 2])
// What one reshard undoes of another goes; a sum of which all want the same part is reduce-scattered; gathers are shared
// unless they are to be apart.
// CHECK-LABEL: nn.step "infer" @simplified(
// CHECK-SAME: %[[A:a]]: tensor<2xf32>
// CHECK: dist.all_gather over @mesh ["data"] dim 0(%[[A]]) {dist.order = {{[0-9]+}} : i64, sizes = array<i64: 2, 2>} : tensor<2xf32> to tensor<4xf32>
// CHECK: dist.all_gather over @mesh ["data"] dim 0(%[[A]]) {dist.apart = 1 : i64, dist.order = {{[0-9]+}} : i64, sizes = array<i64: 2, 2>}
// CHECK-NOT: dist.all_gather
// CHECK: dist.reduce_scatter
// CHECK-NOT: dist.all_reduce
// CHECK: nn.return %[[A]],
nn.step "infer" @simplified(
    %a: tensor<4xf32> {nn.role = "parameter", nn.name = "a", dist.layout = #dist.layout<[["data"]]>},
    %x: tensor<2x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<4xf32> {nn.role = "output", nn.name = "a1", dist.layout = #dist.layout<[["data"]]>},
        tensor<4xf32> {nn.role = "output", nn.name = "a2"}, tensor<4xf32> {nn.role = "output", nn.name = "a3"},
        tensor<4xf32> {nn.role = "output", nn.name = "a4"},
        tensor<4xf32> {nn.role = "output", nn.name = "s", dist.layout = #dist.layout<[["data"]]>}) attributes {dist.mesh = @mesh} {
  %0 = dist.reshard %a {dist.layouts = [#dist.layout<[[]]>]} : tensor<4xf32>
  %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[["data"]]>]} : tensor<4xf32>
  %2 = dist.reshard %a {dist.layouts = [#dist.layout<[[]]>]} : tensor<4xf32>
  %3 = dist.reshard %a {dist.layouts = [#dist.layout<[[]]>], dist.apart = 1} : tensor<4xf32>
  %4 = nn.reduce_sum %x {axes = array<i64: 0>, dist.layouts = [#dist.layout<[[]], sum = ["data"]>]} : (tensor<2x4xf32>) -> tensor<4xf32>
  %5 = dist.reshard %4 {dist.layouts = [#dist.layout<[[]]>]} : tensor<4xf32>
  %6 = dist.reshard %5 {dist.layouts = [#dist.layout<[["data"]]>]} : tensor<4xf32>
  nn.return %1, %0, %2, %3, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

dist.mesh @mesh axes(["x" = 2, "y" = 2])
// Of what is only sliced, no more is moved than that: %p is scattered over "x" and its parts are summed over "y"; %q is
// cut before it is summed; columns are cut before rows are gathered; rows become columns in one exchange.
// CHECK-LABEL: nn.step "infer" @parts(
// CHECK-SAME: %[[W:w]]: tensor<2x4xf32>
// CHECK: %[[P:.*]] = nn.reduce_sum
// CHECK: %[[PART:.*]] = dist.reduce_scatter sum over @mesh ["x"] dim 0(%[[P]]) {{.*}} : tensor<8xf32> to tensor<4xf32>
// CHECK: dist.all_reduce sum over @mesh ["y"](%[[PART]]) {{.*}} : tensor<4xf32>
// CHECK: %[[Q:.*]] = nn.reduce_sum
// CHECK: %[[CUT:.*]] = dist.slice over @mesh ["y"] dim 0(%[[Q]]) {{.*}} : tensor<8xf32> to tensor<4xf32>
// CHECK: dist.all_reduce sum over @mesh ["x"](%[[CUT]]) {{.*}} : tensor<4xf32>
// CHECK: %[[COLUMNS:.*]] = dist.slice over @mesh ["y"] dim 1(%[[W]]) {{.*}} : tensor<2x4xf32> to tensor<2x2xf32>
// CHECK: dist.all_gather over @mesh ["x"] dim 0(%[[COLUMNS]]) {{.*}} : tensor<2x2xf32> to tensor<4x2xf32>
// CHECK: dist.all_to_all over @mesh ["x"] split 1 concat 0(%[[W]]) {{.*}} : tensor<2x4xf32> to tensor<4x2xf32>
// CHECK-NOT: dist.all_gather
// CHECK: nn.return
nn.step "infer" @parts(
    %a: tensor<8x8xf32> {nn.role = "parameter", nn.name = "a", dist.layout = #dist.layout<[["x", "y"], []]>},
    %w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w", dist.layout = #dist.layout<[["x"], []]>},
    %c: tensor<4x8xf32> {nn.role = "parameter", nn.name = "c", dist.layout = #dist.layout<[["x"], []]>})
    -> (tensor<8xf32> {nn.role = "output", nn.name = "p", dist.layout = #dist.layout<[["x"]]>},
        tensor<8xf32> {nn.role = "output", nn.name = "q", dist.layout = #dist.layout<[["y"]]>},
        tensor<4x4xf32> {nn.role = "output", nn.name = "columns", dist.layout = #dist.layout<[[], ["y"]]>},
        tensor<4x4xf32> {nn.role = "output", nn.name = "turned", dist.layout = #dist.layout<[[], ["x"]]>}) attributes {dist.mesh = @mesh} {
  %p = nn.reduce_sum %a {axes = array<i64: 0>, dist.layouts = [#dist.layout<[[]], sum = ["x", "y"]>]} : (tensor<8x8xf32>) -> tensor<8xf32>
  %p1 = dist.reshard %p {dist.layouts = [#dist.layout<[[]]>]} : tensor<8xf32>
  %p2 = dist.reshard %p1 {dist.layouts = [#dist.layout<[["x"]]>]} : tensor<8xf32>
  %q = nn.reduce_sum %c {axes = array<i64: 0>, dist.layouts = [#dist.layout<[[]], sum = ["x"]>]} : (tensor<4x8xf32>) -> tensor<8xf32>
  %q1 = dist.reshard %q {dist.layouts = [#dist.layout<[[]]>]} : tensor<8xf32>
  %q2 = dist.reshard %q1 {dist.layouts = [#dist.layout<[["y"]]>]} : tensor<8xf32>
  %w1 = dist.reshard %w {dist.layouts = [#dist.layout<[[], []]>], dist.apart = 1} : tensor<4x4xf32>
  %w2 = dist.reshard %w1 {dist.layouts = [#dist.layout<[[], ["y"]]>]} : tensor<4x4xf32>
  %w3 = dist.reshard %w {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x4xf32>
  %w4 = dist.reshard %w3 {dist.layouts = [#dist.layout<[[], ["x"]]>]} : tensor<4x4xf32>
  nn.return %p2, %q2, %w2, %w4 : tensor<8xf32>, tensor<8xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
