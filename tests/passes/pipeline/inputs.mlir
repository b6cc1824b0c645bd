// Each micro-batch has an input of its own, in the layout of the plan; a stage has the inputs that it computes with.
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1;F0 B0 F1 B1"' %s | FileCheck %s --check-prefix=STAGES
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1;F0 B0 F1 B1"' --partition %s | FileCheck %s --check-prefix=RANKS
// RUN: pdc-opt --pipeline='order="F0 F1 B0 B1;F0 B0 F1 B1"' --partition --fuse --lower %s | FileCheck %s --check-prefix=BUFFERS
// RUN: pdc-opt --pipeline='order="F0 B0;F0 B0"' %s | FileCheck %s --check-prefix=WHOLE

dist.mesh @mesh axes(["data" = 2])
nn.step "train" @train(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w", nn.init = #nn.init<zeros>}, %v: tensor<4x2xf32> {nn.role = "parameter", nn.name = "v", nn.init = #nn.init<zeros>},
      %x: tensor<9x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>},
      %dy: tensor<9x2xf32> {nn.role = "input", nn.name = "dy", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"})
    attributes {dist.mesh = @mesh} {
  %h = nn.matmul %x, %w {dist.chunk = 0 : i64, dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<9x4xf32>, tensor<4x4xf32>) -> tensor<9x4xf32>
  %y = nn.matmul %h, %v {dist.chunk = 1 : i64, dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<9x4xf32>, tensor<4x2xf32>) -> tensor<9x2xf32>
  %e = nn.mul %y, %dy {dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<9x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
  %part = nn.reduce_sum %e {axes = array<i64: 0, 1>, dist.layouts = [#dist.layout<[], sum = ["data"]>]} : (tensor<9x2xf32>) -> tensor<f32>
  %loss = dist.reshard %part {dist.layouts = [#dist.layout<[]>]} : tensor<f32>
  %dvPart = nn.linear_grad_weight %h, %dy {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<9x4xf32>, tensor<9x2xf32>) -> tensor<4x2xf32>
  %dv = dist.reshard %dvPart {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x2xf32>
  %dh = nn.matmul %dy, %v {transpose_rhs, dist.layouts = [#dist.layout<[["data"], []]>]} : (tensor<9x2xf32>, tensor<4x2xf32>) -> tensor<9x4xf32>
  %dwPart = nn.linear_grad_weight %x, %dh {dist.layouts = [#dist.layout<[[], []], sum = ["data"]>]} : (tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<4x4xf32>
  %dw = dist.reshard %dwPart {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x4xf32>
  %newW = nn.sub %w, %dw : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %newV = nn.sub %v, %dv : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %loss, %newW, %newV : tensor<f32>, tensor<4x4xf32>, tensor<4x2xf32>
}

// STAGES: nn.step "train" @train(%w:
// STAGES-SAME: %x: tensor<5x4xf32> {dist.batch_part = 0 : i64, dist.layout = #dist.layout<{{\[\[}}"data"], []]>, nn.name = "x", nn.role = "input"}
// STAGES-SAME: %[[X1:x_[0-9]+]]: tensor<4x4xf32> {dist.batch_part = 5 : i64, dist.layout = #dist.layout<{{\[\[}}"data"], []]>, nn.name = "x", nn.role = "input"})
// STAGES-SAME: dist.batch = 9 : i64
// STAGES-NOT: nn.slice
// STAGES: dist.task "F" micro_batch 0
// STAGES: nn.matmul %x, %w
// STAGES: dist.task "F" micro_batch 1
// STAGES: nn.matmul %[[X1]], %w
// STAGES: nn.step "train" @train_stage1(%v:
// STAGES-SAME: %dy: tensor<5x2xf32> {dist.batch_part = 0
// STAGES-SAME: %[[DY1:dy_[0-9]+]]: tensor<4x2xf32> {dist.batch_part = 5

// Of 5 samples rank 0 has 3, of 4 it has 2.
// RANKS: nn.step "train" @train(%w:
// RANKS-SAME: %x: tensor<3x4xf32> {dist.batch_part = 0 : i64, dist.global = tensor<5x4xf32>
// RANKS-SAME: tensor<2x4xf32> {dist.batch_part = 5 : i64, dist.global = tensor<4x4xf32>
// RANKS: nn.step "train" @train_1(%w:
// RANKS-SAME: %x: tensor<2x4xf32> {dist.batch_part = 0

// BUFFERS: rt.program @train "train" ranks [0] batch 9 local 5 starts [0]
// BUFFERS: rt.buffer input private "x" {global_shape = array<i64: 9, 4>, starts = array<i64: 0, 0>} : memref<3x4xf32>
// BUFFERS: rt.buffer input private "x" {global_shape = array<i64: 9, 4>, starts = array<i64: 5, 0>} : memref<2x4xf32>
// BUFFERS: rt.program @train_1 "train" ranks [1] batch 9 local 4 starts [3]
// BUFFERS: rt.buffer input private "x" {global_shape = array<i64: 9, 4>, starts = array<i64: 3, 0>} : memref<2x4xf32>
// BUFFERS: rt.buffer input private "x" {global_shape = array<i64: 9, 4>, starts = array<i64: 7, 0>} : memref<2x4xf32>
// BUFFERS-NOT: rt.buffer input private "dy"
// BUFFERS: rt.program @train_stage1 "train"
// BUFFERS-NOT: rt.buffer input private "x"

// One micro-batch is the batch.
// WHOLE: nn.step "train" @train(%w:
// WHOLE-SAME: %x: tensor<9x4xf32> {dist.layout = #dist.layout<{{\[\[}}"data"], []]>, nn.role = "input"})
// WHOLE: nn.step "train" @train_stage1(%v:
// WHOLE-SAME: %dy: tensor<9x2xf32>
