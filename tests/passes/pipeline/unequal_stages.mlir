// Two replicas of the first stage, one rank of the second, which is planned on a mesh of its own. The replicas' gradients are
// reduced as soon as the last micro-batch has added its part, within its backward task.
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1;F0 B0 F1 B1"' %s | FileCheck %s --check-prefix=STAGES
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1;F0 B0 F1 B1"' --partition %s | FileCheck %s --check-prefix=RANKS

module attributes {dist.stage_meshes = [@mesh, @mesh_1]} {
dist.mesh @mesh axes(["data" = 2])
dist.mesh @mesh_1 axes(["data" = 1])
nn.step "train" @train(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"},
      %x: tensor<8x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"})
    attributes {dist.mesh = @mesh} {
  %h = nn.matmul %x, %w {dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = nn.matmul %h, %v {dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %part = nn.reduce_sum %y {axes = array<i64: 0, 1>, dist.layouts = [#dist.layout<[], sum = ["data"]>]} : (tensor<8x2xf32>) -> tensor<f32>
  %loss = dist.reshard %part {dist.layouts = [#dist.layout<[]>]} : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<8x2xf32>
  %dy = dist.reshard %one {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<8x2xf32>
  %dvPart = nn.linear_grad_weight %h, %dy {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %dv = dist.reshard %dvPart {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x2xf32>
  %dh = nn.matmul %dy, %v {transpose_rhs, dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<8x2xf32>, tensor<4x2xf32>) -> tensor<8x4xf32>
  %dwPart = nn.linear_grad_weight %x, %dh {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %dw = dist.reshard %dwPart {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x4xf32>
  %newW = nn.sub %w, %dw : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %newV = nn.sub %v, %dv : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %loss, %newW, %newV : tensor<f32>, tensor<4x4xf32>, tensor<4x2xf32>
}
nn.step "train" @train_1(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"},
      %x: tensor<8x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"})
    attributes {dist.mesh = @mesh_1} {
  %h = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %y = nn.matmul %h, %v : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<8x2xf32>) -> tensor<f32>
  %dy = nn.constant dense<1.0> : tensor<8x2xf32>
  %dv = nn.linear_grad_weight %h, %dy : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %dh = nn.matmul %dy, %v {transpose_rhs} : (tensor<8x2xf32>, tensor<4x2xf32>) -> tensor<8x4xf32>
  %dw = nn.linear_grad_weight %x, %dh : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %newW = nn.sub %w, %dw : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %newV = nn.sub %v, %dv : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %loss, %newW, %newV : tensor<f32>, tensor<4x4xf32>, tensor<4x2xf32>
}
}

// STAGES: dist.mesh @stage0 axes(["data" = 2])
// STAGES: dist.mesh @stage1 axes(["data" = 1]) from 2
// STAGES: nn.step "train" @train(%w: {{.*}}dist.mesh = @stage0
// STAGES: dist.stage_send from @stage0 to @stage1 tag 0 as <{{\[\[}}], []]>(%{{.*}}) : tensor<4x4xf32>
// STAGES: dist.task "B" micro_batch 1
// STAGES: %[[SUM:.*]] = nn.add %{{.*}} {dist.layouts = [#dist.layout<{{\[\[}}], []], sum = ["data"]>]}
// STAGES: %[[DW:.*]] = dist.reshard %[[SUM]]
// STAGES: dist.task "U"
// STAGES: nn.sub %w, %[[DW]]
// STAGES: nn.step "train" @train_stage1(%v: {{.*}}dist.mesh = @stage1
// STAGES: dist.stage_receive at @stage1 from @stage0 tag 0 as <{{\[\[}}"data"], []]> : tensor<4x4xf32>

// Each replica sends its samples to rank 2, which joins them, and sends each its part of the gradient.
// RANKS: nn.step "train" @train(%w: {{.*}}dist.ranks = array<i64: 0, 1>
// RANKS: dist.send to [2, 2] tag 0(%{{.*}}) : tensor<2x4xf32>
// RANKS: %[[DH:.*]] = dist.receive from [2, 2] tag 0 : tensor<2x4xf32>
// RANKS: dist.task "B" micro_batch 0
// RANKS: nn.linear_grad_weight %{{.*}}, %[[DH]]
// RANKS: dist.task "B" micro_batch 1
// RANKS: dist.all_reduce sum over @stage0 ["data"]
// RANKS: dist.task "U"
// RANKS: nn.step "train" @train_stage1(%v: {{.*}}dist.ranks = array<i64: 2>
// RANKS: %[[A:.*]] = dist.receive from [0] tag 0 : tensor<2x4xf32>
// RANKS: %[[B:.*]] = dist.receive from [1] tag 0 : tensor<2x4xf32>
// RANKS: nn.concat %[[A]], %[[B]]
// RANKS: dist.send to [0] tag 0(%{{.*}}) : tensor<2x4xf32>
// RANKS: dist.send to [1] tag 0(%{{.*}}) : tensor<2x4xf32>
