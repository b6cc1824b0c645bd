// RUN: pdc-opt %s | pdc-opt | FileCheck %s

// CHECK: dist.mesh @mesh axes(["data" = 4, "tensor" = 2])
dist.mesh @mesh axes(["data" = 4, "tensor" = 2])
// CHECK: dist.mesh @next axes(["data" = 2]) from 8
dist.mesh @next axes(["data" = 2]) from 8

// CHECK: nn.step "{{.*}}" @infer
// CHECK-SAME: dist.layout = #dist.layout<{{\[\[}}"data"] by 2, []]>
nn.step "infer" @infer(%x: tensor<8x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"] by 2, []]>})
    -> (tensor<8x4xf32> {nn.role = "output", nn.name = "y"}) {
  // CHECK: dist.reshard %{{.*}} {dist.layouts = [#dist.layout<{{\[\[}}], []], sum = ["tensor"]>]} : tensor<8x4xf32>
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<[[], []], sum = ["tensor"]>]} : tensor<8x4xf32>
  // CHECK: dist.all_reduce sum over @mesh ["tensor"](%{{.*}}, %{{.*}}) : tensor<8x4xf32>, tensor<8x4xf32>
  %1:2 = dist.all_reduce sum over @mesh ["tensor"] (%0, %x) : tensor<8x4xf32>, tensor<8x4xf32>
  // CHECK: dist.all_gather over @mesh ["data"] dim 0(%{{.*}}) : tensor<8x4xf32> to tensor<32x4xf32>
  %2 = dist.all_gather over @mesh ["data"] dim 0 (%1#0) : tensor<8x4xf32> to tensor<32x4xf32>
  // CHECK: dist.reduce_scatter max over @mesh ["data"] dim 0(%{{.*}}) : tensor<32x4xf32> to tensor<8x4xf32>
  %3 = dist.reduce_scatter max over @mesh ["data"] dim 0 (%2) : tensor<32x4xf32> to tensor<8x4xf32>
  // CHECK: dist.all_to_all over @mesh ["tensor"] split 0 concat 1(%{{.*}}) : tensor<8x4xf32> to tensor<4x8xf32>
  %4 = dist.all_to_all over @mesh ["tensor"] split 0 concat 1 (%3) : tensor<8x4xf32> to tensor<4x8xf32>
  // CHECK: dist.broadcast over @mesh ["data"] root 3(%{{.*}}) : tensor<4x8xf32>
  %5 = dist.broadcast over @mesh ["data"] root 3 (%4) : tensor<4x8xf32>
  // CHECK: dist.shard_start over @mesh ["data"] size 16 block 4 : tensor<i64>
  %6 = dist.shard_start over @mesh ["data"] size 16 block 4 : tensor<i64>
  // CHECK: dist.halo_exchange over @mesh ["tensor"] dim 0 has [0, 8, 8, 15] needs [0, 9, 7, 15](%{{.*}}) : tensor<8x4xf32> to tensor<9x4xf32>
  %7 = dist.halo_exchange over @mesh ["tensor"] dim 0 has [0, 8, 8, 15] needs [0, 9, 7, 15] (%3) : tensor<8x4xf32> to tensor<9x4xf32>
  // CHECK: dist.task "F" micro_batch 2 chunk 1
  dist.task "F" micro_batch 2 chunk 1
  // CHECK: dist.stage_send from @mesh to @next tag 4 as <{{\[\[}}"data"], []]>(%{{.*}}) : tensor<8x4xf32>
  dist.stage_send from @mesh to @next tag 4 as <[["data"], []]> (%3) : tensor<8x4xf32>
  // CHECK: dist.stage_receive at @mesh from @next tag 4 as <{{\[\[}}"data"], []]> {dist.layouts = [#dist.layout<{{\[\[}}], ["tensor"]]>]} : tensor<8x4xf32>
  %8 = dist.stage_receive at @mesh from @next tag 4 as <[["data"], []]> {dist.layouts = [#dist.layout<[[], ["tensor"]]>]} : tensor<8x4xf32>
  // CHECK: dist.stage_wait from @mesh to @next tag 4
  dist.stage_wait from @mesh to @next tag 4
  // CHECK: dist.send to [8] tag 5(%{{.*}}) : tensor<8x4xf32>
  dist.send to [8] tag 5 (%3) : tensor<8x4xf32>
  // CHECK: dist.receive from [9] tag 5 : tensor<8x4xf32>
  %9 = dist.receive from [9] tag 5 : tensor<8x4xf32>
  // CHECK: dist.send_wait to [8] tag 5
  dist.send_wait to [8] tag 5
  // CHECK: %{{.*}}:2 = dist.optimization_barrier %{{.*}}, %{{.*}} : tensor<32x4xf32>, tensor<i64>
  %10:2 = dist.optimization_barrier %2, %6 : tensor<32x4xf32>, tensor<i64>
  // CHECK: dist.summand %{{.*}} {dist.layouts = [#dist.layout<[], sum = ["data"]>]} : tensor<i64>
  %11 = dist.summand %6 {dist.layouts = [#dist.layout<[], sum = ["data"]>]} : tensor<i64>
  nn.return %3 : tensor<8x4xf32>
}
