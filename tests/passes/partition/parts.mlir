// RUN: pdc-opt %s -partition -verify-partitioned | FileCheck %s

dist.mesh @mesh axes(["tensor" = 2])

// The columns of a softmax: a maximum and a sum a row are reduced.
// CHECK-LABEL: nn.step "infer" @softmax(%{{.*}}: tensor<4x3xf32>
// CHECK: %[[MAX:.*]] = nn.reduce_max %{{.*}} : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK: dist.all_reduce max over @mesh ["tensor"](%[[MAX]])
// CHECK: %[[SUM:.*]] = nn.reduce_sum %{{.*}} : (tensor<4x3xf32>) -> tensor<4x1xf32>
// CHECK: dist.all_reduce sum over @mesh ["tensor"](%[[SUM]])
// CHECK-NOT: dist.all
nn.step "infer" @softmax(%x: tensor<4x6xf32> {nn.role = "parameter", nn.name = "x", dist.layout = #dist.layout<[[], ["tensor"]]>})
    -> (tensor<4x6xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], ["tensor"]]>}) attributes {dist.mesh = @mesh} {
  %0 = nn.softmax %x {dist.layouts = [#dist.layout<[[], ["tensor"]]>]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  nn.return %0 : tensor<4x6xf32>
}

// The classes of a cross entropy: no logits move, and each rank knows which classes are its own.
// CHECK-LABEL: nn.step "infer" @loss(%{{.*}}: tensor<4x4xf32>
// CHECK-DAG: dist.shard_start over @mesh ["tensor"] size 7 block 1
// CHECK-DAG: dist.all_reduce max over @mesh ["tensor"](%{{.*}}) {{.*}} : tensor<4x1xf32>
// CHECK: dist.all_reduce sum over @mesh ["tensor"](%{{.*}}) {{.*}} : tensor<4x1xf32>
// CHECK: dist.all_reduce sum over @mesh ["tensor"](%{{.*}}) {{.*}} : tensor<4x1xf32>
// CHECK-NOT: dist.all
// CHECK-LABEL: nn.step "infer" @loss_1(%{{.*}}: tensor<4x3xf32>
nn.step "infer" @loss(%x: tensor<4x7xf32> {nn.role = "parameter", nn.name = "x", dist.layout = #dist.layout<[[], ["tensor"]]>},
    %labels: tensor<4xi32> {nn.role = "input", nn.name = "labels", dist.layout = #dist.layout<[[]]>})
    -> (tensor<4xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[]]>}) attributes {dist.mesh = @mesh} {
  %0 = nn.cross_entropy_rows %x, %labels {ignore_index = -100 : i64} : (tensor<4x7xf32>, tensor<4xi32>) -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}
