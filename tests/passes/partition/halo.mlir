// RUN: pdc-opt %s -partition -verify-partitioned | FileCheck %s
// RUN: pdc-opt %s -partition -lower -verify-lowered | FileCheck %s --check-prefix=LOWERED

// Seven rows over two ranks: each part gets a row of the other, and pads its outer border only.
// CHECK-LABEL: nn.step "infer" @conv(%{{.*}}: tensor<1x1x4x5xf32>
// CHECK: %[[IN:.*]] = dist.halo_exchange over @mesh ["tensor"] dim 2 has [0, 4, 4, 7] needs [0, 5, 3, 7](%{{.*}}) : tensor<1x1x4x5xf32> to tensor<1x1x5x5xf32>
// CHECK: nn.conv2d %[[IN]], %{{.*}} {padding = array<i64: 1, 1, 0, 1>} : (tensor<1x1x5x5xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x5xf32>
// CHECK-LABEL: nn.step "infer" @conv_1(%{{.*}}: tensor<1x1x3x5xf32>
// CHECK: nn.conv2d {{.*}} {padding = array<i64: 0, 1, 1, 1>} : (tensor<1x1x4x5xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x3x5xf32>

// Receives before sends before waits; one channel's rows lie densely, so that nothing is packed.
// LOWERED-LABEL: rt.program @conv "infer" ranks [0]
// LOWERED: %[[R:.*]] = rt.receive_start "halo" %{{.*}} peers [1] {{.*}} : memref<1x1x1x5xf32
// LOWERED: %[[S:.*]] = rt.send_start "halo" %{{.*}} peers [1] {{.*}} : memref<1x1x1x5xf32
// LOWERED: rt.copy "halo own"
// LOWERED: rt.collective_done %[[R]]
// LOWERED: rt.collective_done %[[S]]
// LOWERED: rt.library "conv2d"
// LOWERED-LABEL: rt.program @conv_1 "infer" ranks [1]
// LOWERED: rt.receive_start "halo" %{{.*}} peers [0]
dist.mesh @mesh axes(["tensor" = 2])
nn.step "infer" @conv(%x: tensor<1x1x7x5xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[[], [], ["tensor"], []]>},
    %w: tensor<1x1x3x3xf32> {nn.role = "parameter", nn.name = "w", dist.layout = #dist.layout<[[], [], [], []]>})
    -> (tensor<1x1x7x5xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], [], ["tensor"], []]>}) attributes {dist.mesh = @mesh} {
  %0 = nn.conv2d %x, %w {padding = array<i64: 1, 1, 1, 1>, dist.layouts = [#dist.layout<[[], [], ["tensor"], []]>]} : (tensor<1x1x7x5xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x7x5xf32>
  nn.return %0 : tensor<1x1x7x5xf32>
}
