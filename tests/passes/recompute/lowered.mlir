// The barrier keeps fuse from making one kernel of forward pass and copy, has local shapes after partition, and leaves no
// instruction.
// RUN: pdc-opt --recompute --partition --verify-partitioned %s | FileCheck %s --check-prefix=LOCAL
// RUN: pdc-opt --recompute --partition --fuse %s | FileCheck %s --check-prefix=FUSED
// RUN: pdc-opt --recompute --partition --fuse --lower --memory %s | FileCheck %s --check-prefix=LOWERED

module attributes {dist.recompute = ["selective"]} {
dist.mesh @mesh axes(["data" = 2])
nn.step "gradient" @gradient(%w0: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w0"}, %w1: tensor<8x8xf32> {nn.role = "parameter", nn.name = "w1"},
      %x: tensor<64x8xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<64x8xf32> {nn.role = "loss", nn.name = "loss", dist.layout = #dist.layout<[["data"], []]>},
        tensor<8x8xf32> {nn.role = "gradient", nn.name = "w1"}, tensor<64x8xf32> {nn.role = "gradient", nn.name = "h0", dist.layout = #dist.layout<[["data"], []]>})
    attributes {dist.mesh = @mesh} {
  %h0 = nn.linear %x, %w0 {dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %a0 = nn.gelu %h0 {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<64x8xf32>
  %h1 = nn.linear %a0, %w1 {dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dh1 = nn.gelu_grad %h1, %h1 {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<64x8xf32>
  %dw1 = nn.linear_grad_weight %a0, %dh1 {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %da0 = nn.linear %dh1, %w1 {transpose_weight, dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dh0 = nn.gelu_grad %da0, %h0 {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<64x8xf32>
  %sum = dist.reshard %dw1 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<8x8xf32>
  nn.return %h1, %sum, %dh0 : tensor<64x8xf32>, tensor<8x8xf32>, tensor<64x8xf32>
}
}

// What verify compares with keeps everything.
// LOCAL: nn.step "gradient" @reference_gradient
// LOCAL-NOT: optimization_barrier
// LOCAL: nn.step "gradient" @gradient
// LOCAL: %[[B:.*]] = dist.optimization_barrier %{{.*}} : tensor<32x8xf32>
// LOCAL-NEXT: nn.gelu %[[B]] : tensor<32x8xf32>

// FUSED: nn.step "gradient" @gradient
// FUSED: nn.fusion
// FUSED: nn.gelu
// FUSED: %[[B:.*]] = dist.optimization_barrier
// FUSED: nn.fusion(%{{.*}} = %[[B]]
// FUSED: nn.gelu

// LOWERED-NOT: optimization_barrier
// LOWERED: rt.program {{.*}}@gradient
// LOWERED: rt.library "matmul" {{.*}} writes(%[[H0:[0-9]+]] :
// LOWERED: rt.kernel {{.*}}"gelu" reads(%[[H0]] :
// LOWERED: rt.library "matmul"
// LOWERED-NOT: rt.copy
// The copy reads the same memory.
// LOWERED: rt.kernel {{.*}}"gelu" reads(%[[H0]] :
// LOWERED-NOT: rt.copy
// LOWERED: rt.collective_start
