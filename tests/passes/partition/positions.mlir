// RUN: pdc-opt %s -partition -verify-partitioned | FileCheck %s

dist.mesh @mesh axes(["tensor" = 2])

// A part of a table of 7 rows knows where it begins; its result is a partial sum.
// CHECK-LABEL: nn.step "infer" @embedding(%{{.*}}: tensor<4x3xf32>
// CHECK: %[[START:.*]] = dist.shard_start over @mesh ["tensor"] size 7 block 1 : tensor<i64>
// CHECK: %[[ROWS:.*]] = nn.embedding %{{.*}}, %{{.*}}, %[[START]] {vocabulary = 7 : i64} : (tensor<4x3xf32>, tensor<2xi32>, tensor<i64>) -> tensor<2x3xf32>
// CHECK: dist.all_reduce sum over @mesh ["tensor"](%[[ROWS]])
// CHECK-LABEL: nn.step "infer" @embedding_1(%{{.*}}: tensor<3x3xf32>
nn.step "infer" @embedding(%table: tensor<7x3xf32> {nn.role = "parameter", nn.name = "t", dist.layout = #dist.layout<[["tensor"], []]>},
    %ids: tensor<2xi32> {nn.role = "input", nn.name = "ids", dist.layout = #dist.layout<[[]]>})
    -> (tensor<2x3xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], []]>}) attributes {dist.mesh = @mesh} {
  %0 = nn.embedding %table, %ids {dist.layouts = [#dist.layout<[[], []], sum = ["tensor"]>]} : (tensor<7x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<2x3xf32>
  nn.return %1 : tensor<2x3xf32>
}

// Rows of a causal softmax that begin elsewhere see as far as they would in the whole.
// CHECK-LABEL: nn.step "infer" @causal
// CHECK: %[[ROW:.*]] = dist.shard_start over @mesh ["tensor"] size 4 block 1
// CHECK: nn.iota 0 from %[[ROW]] : tensor<2x6xi32>
// CHECK-NOT: nn.softmax
nn.step "infer" @causal(%x: tensor<4x6xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["tensor"], []]>})
    -> (tensor<4x6xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[["tensor"], []]>}) attributes {dist.mesh = @mesh} {
  %0 = nn.softmax %x {causal, dist.layouts = [#dist.layout<[["tensor"], []]>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  nn.return %0 : tensor<4x6xf32>
}

// A sum whose parts are on two ranks has its bias from the first.
// CHECK-LABEL: nn.step "infer" @linear
// CHECK: %[[K:.*]] = dist.shard_start over @mesh ["tensor"] size 4 block 1
// CHECK: %[[FIRST:.*]] = nn.compare eq %[[K]]
// CHECK: %[[BIAS:.*]] = nn.select %[[FIRST]]
// CHECK: nn.linear %{{.*}}, %{{.*}}, %[[BIAS]]
nn.step "infer" @linear(%x: tensor<3x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[[], ["tensor"]]>},
    %w: tensor<4x2xf32> {nn.role = "parameter", nn.name = "w", dist.layout = #dist.layout<[["tensor"], []]>},
    %b: tensor<2xf32> {nn.role = "parameter", nn.name = "b", dist.layout = #dist.layout<[[]]>})
    -> (tensor<3x2xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], []]>}) attributes {dist.mesh = @mesh} {
  %0 = nn.linear %x, %w, %b {dist.layouts = [#dist.layout<[[], []], sum = ["tensor"]>]} : (tensor<3x4xf32>, tensor<4x2xf32>, tensor<2xf32>) -> tensor<3x2xf32>
  %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<3x2xf32>
  nn.return %1 : tensor<3x2xf32>
}
