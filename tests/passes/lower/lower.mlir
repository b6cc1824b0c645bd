// RUN: pdc-opt %s -lower -verify-lowered | FileCheck %s
// RUN: pdc-opt %s -lower -memory -verify-lowered="placed=true" | FileCheck %s --check-prefix=PLACED

dist.mesh @mesh axes(["data" = 2])
// The gradient is computed in the bucket's shared memory, reduced there, and the parameter updated in its own place.
// CHECK: rt.program @train "train" ranks [0, 1] batch 4 local 2 starts [0, 2] {
// CHECK: %[[X:.*]] = rt.buffer input private "x"
// CHECK: %[[W:.*]] = rt.buffer parameter private "w"
// CHECK: %[[BUCKET:.*]] = rt.buffer gradient shared "bucket 0" : memref<8xf32>
// CHECK: %[[G:.*]] = rt.view %[[BUCKET]] : memref<8xf32> to memref<4x2xf32>
// CHECK: rt.library "matmul" {{.*}} writes(%[[G]] : memref<4x2xf32>)
// CHECK: %[[T:.*]] = rt.collective_start "all_reduce" "bucket 0 all_reduce" sum %[[BUCKET]] groups [array<i64: 0, 1>]
// CHECK: rt.collective_done %[[T]]
// CHECK: rt.kernel @k0_update "update" reads(%[[W]], %[[G]] : memref<4x2xf32>, memref<4x2xf32>) writes() {{.*}}updates = array<i64: 0>
// CHECK: rt.define @k0_update
// PLACED: private_bytes = {{[0-9]+}} : i64
// PLACED: rt.buffer parameter private "w" {{.*}}offset = 0 : i64
nn.step "train" @train(
    %x: tensor<2x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>, dist.global = tensor<4x4xf32>},
    %dy: tensor<2x2xf32> {nn.role = "input", nn.name = "dy", dist.layout = #dist.layout<[["data"], []]>, dist.global = tensor<4x2xf32>},
    %w: tensor<4x2xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<4x2xf32> {nn.role = "parameter", nn.name = "w"})
    attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0, 1>} {
  %0 = nn.linear_grad_weight %x, %dy : (tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<4x2xf32>
  %1 = dist.all_reduce sum over @mesh ["data"] (%0) {bucket = 0} : tensor<4x2xf32>
  %2 = "nn.fusion"(%w, %1) <{donate = [[0, 0]], label = "update"}> ({
  ^bb0(%a: tensor<4x2xf32>, %b: tensor<4x2xf32>):
    %3 = nn.sub %a, %b : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    nn.yield %3 : tensor<4x2xf32>
  }) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %2 : tensor<4x2xf32>
}
