// Two replicas of the first stage take micro-batches in turn: each has a step of its own, with two of the four. What is computed of
// a micro-batch lies whole in its replica, and goes between that replica and the second stage. A sum over micro-batches is a
// summand on each replica, which are reduced as the plan has it, and loss and metrics go to both at once.
// RUN: pdc-opt --pipeline='order="F0 F2 B0 B2;F1 F3 B1 B3;F0 B0 F1 B1 F2 B2 F3 B3" replicas=2,1' %s | FileCheck %s
// RUN: pdc-opt --pipeline='order="F0 F2 B0 B2;F1 F3 B1 B3;F0 B0 F1 B1 F2 B2 F3 B3" replicas=2,1' --partition %s | FileCheck %s --check-prefix=RANKS

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

// CHECK: dist.mesh @stage0 axes(["data" = 2])
// CHECK-NEXT: dist.mesh @stage0_replica0 axes(["data" = 1])
// CHECK-NEXT: dist.mesh @stage0_replica1 axes(["data" = 1]) from 1
// CHECK-NEXT: dist.mesh @stage1 axes(["data" = 1]) from 2

// CHECK: nn.step "train" @train(%w: {{.*}}%x: tensor<2x4xf32> {dist.batch_part = 0 : i64, dist.layout = #dist.layout<{{\[\[}}], []]>{{.*}}%x_0: tensor<2x4xf32> {dist.batch_part = 4 : i64
// CHECK-SAME: dist.mesh = @stage0, dist.replica = @stage0_replica0, dist.stage = 0
// CHECK: dist.task "F" micro_batch 0
// CHECK: dist.stage_send from @stage0_replica0 to @stage1 tag 0 as <{{\[\[}}], []]>(%{{.*}}) : tensor<2x4xf32>
// CHECK: dist.task "F" micro_batch 2
// CHECK: dist.task "B" micro_batch 2
// CHECK: %[[OWN:.*]] = nn.add %{{.*}}, %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK: %[[PART:.*]] = dist.summand %[[OWN]] {dist.layouts = [#dist.layout<{{\[\[}}], []], sum = ["data"]>]}
// CHECK: %[[DW:.*]] = dist.reshard %[[PART]] {dist.layouts = [#dist.layout<{{\[\[}}], []]>]}
// CHECK: dist.task "U"
// CHECK: nn.sub %w, %[[DW]]
// CHECK: dist.stage_receive at @stage0 from @stage1 tag 2 as <[]> : tensor<f32>

// CHECK: nn.step "train" @train_replica1(%w: {{.*}}%x: tensor<2x4xf32> {dist.batch_part = 2 : i64
// CHECK-SAME: dist.mesh = @stage0, dist.replica = @stage0_replica1, dist.stage = 0
// CHECK: dist.stage_receive at @stage0 from @stage1 tag 2 as <[]> : tensor<f32>

// CHECK: nn.step "train" @train_stage1(
// CHECK-NOT: dist.replica
// CHECK: dist.stage_receive at @stage1 from @stage0_replica0 tag 0
// CHECK: dist.stage_receive at @stage1 from @stage0_replica1 tag 0
// CHECK: dist.stage_send from @stage1 to @stage0 tag 2 as <[]>(%{{.*}}) : tensor<f32>

// RANKS: nn.step "train" @train(%w: {{.*}}dist.ranks = array<i64: 0>
// RANKS: dist.send to [2] tag 0(%{{.*}}) : tensor<2x4xf32>
// RANKS-NOT: dist.summand
// RANKS: dist.all_reduce sum over @stage0 ["data"]
// RANKS: nn.step "train" @train_replica1(%w: {{.*}}dist.ranks = array<i64: 1>
// RANKS: dist.all_reduce sum over @stage0 ["data"]
// RANKS: nn.step "train" @train_stage1(%v: {{.*}}dist.ranks = array<i64: 2>
// RANKS-DAG: dist.send to [0] tag 2(%[[LOSS:.*]]) : tensor<f32>
// RANKS-DAG: dist.send to [1] tag 2(%{{.*}}) : tensor<f32>
