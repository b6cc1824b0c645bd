// Two mini-batches with an update after each backward. The first stage has sent both forward before its first update; the
// last has updated in between. With vertical sync both mini-batches meet the first version there, too.
// RUN: pdc-opt --pipeline='order="F0 F1 B0 U0 B1 U1;F0 B0 U0 F1 B1 U1"' %s | FileCheck %s
// RUN: pdc-opt --pipeline='order="F0 F1 B0 U0 B1 U1;F0 B0 U0 F1 B1 U1" vertical-sync' %s | FileCheck %s --check-prefix=SYNC

dist.mesh @mesh axes(["data" = 1])
nn.step "train" @train(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, %v: tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"},
      %x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"}, %lr: tensor<f32> {nn.role = "learning_rate", nn.name = "learning_rate"},
      %step: tensor<f32> {nn.role = "step", nn.name = "step"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}, tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"}, tensor<4x2xf32> {nn.role = "parameter", nn.name = "v"})
    attributes {dist.mesh = @mesh} {
  %h = nn.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = nn.matmul %h, %v : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  %dy = nn.constant dense<1.0> : tensor<4x2xf32>
  %dv = nn.linear_grad_weight %h, %dy : (tensor<4x4xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %dh = nn.matmul %dy, %v {transpose_rhs} : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x4xf32>
  %dw = nn.linear_grad_weight %x, %dh : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %rate = nn.div %lr, %step : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %sw = nn.mul %dw, %rate : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %nw = nn.sub %w, %sw : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %sv = nn.mul %dv, %rate : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  %nv = nn.sub %v, %sv : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %loss, %nw, %nv : tensor<f32>, tensor<4x4xf32>, tensor<4x2xf32>
}

// CHECK: nn.step "train" @train(%w
// CHECK: dist.task "F" micro_batch 0
// CHECK: nn.matmul %{{.*}}, %w
// CHECK: dist.task "F" micro_batch 1
// CHECK: nn.matmul %{{.*}}, %w
// CHECK: dist.task "B" micro_batch 0
// CHECK: %[[DW:.*]] = nn.linear_grad_weight
// A gradient is the mini-batch's own: it is half of the batch.
// CHECK: %[[TWO:.*]] = nn.constant dense<2.0
// CHECK: %[[DW0:.*]] = nn.mul %[[DW]], %[[TWO]]
// CHECK: dist.task "U" micro_batch 0
// Two updates a step: t = 2 step - 1, then 2 step.
// CHECK: %[[SCALE:.*]] = nn.constant dense<2.0
// CHECK: %[[SCALED:.*]] = nn.mul %step, %[[SCALE]]
// CHECK: %[[BEFORE:.*]] = nn.constant dense<-1.0
// CHECK: %[[T:.*]] = nn.add %[[SCALED]], %[[BEFORE]]
// CHECK: %[[RATE:.*]] = nn.div %learning_rate, %[[T]]
// CHECK: %[[SW:.*]] = nn.mul %[[DW0]], %[[RATE]]
// CHECK: %[[W1:.*]] = nn.sub %w, %[[SW]]
// CHECK: dist.task "U" micro_batch 1
// CHECK: %[[W2:.*]] = nn.sub %[[W1]]
// CHECK: %[[LOSS:.*]] = dist.stage_receive {{.*}} : tensor<f32>
// CHECK: nn.return %[[LOSS]], %[[W2]]

// CHECK: nn.step "train" @train_stage1(%v
// CHECK: dist.task "F" micro_batch 0
// CHECK: nn.matmul %{{.*}}, %v :
// CHECK: dist.task "B" micro_batch 0
// CHECK: nn.matmul %{{.*}}, %v {transpose_rhs}
// CHECK: dist.task "U" micro_batch 0
// CHECK: %[[V1:.*]] = nn.sub %v
// CHECK: dist.task "F" micro_batch 1
// CHECK: nn.matmul %{{.*}}, %[[V1]] :
// CHECK: dist.task "B" micro_batch 1
// CHECK: nn.matmul %{{.*}}, %[[V1]] {transpose_rhs}
// CHECK: dist.task "U" micro_batch 1
// CHECK: %[[V2:.*]] = nn.sub %[[V1]]
// The average of both losses.
// CHECK: %[[AVERAGE:.*]] = nn.add {{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
// CHECK: dist.stage_send {{.*}}(%[[AVERAGE]]) : tensor<f32>
// CHECK: nn.return %[[AVERAGE]], %[[V2]]

// SYNC: nn.step "train" @train_stage1(%v
// SYNC: dist.task "U" micro_batch 0
// SYNC: %[[V1:.*]] = nn.sub %v
// SYNC: dist.task "F" micro_batch 1
// SYNC: nn.matmul %{{.*}}, %v :
// SYNC: dist.task "B" micro_batch 1
// SYNC: nn.matmul %{{.*}}, %v {transpose_rhs}
// SYNC: dist.task "U" micro_batch 1
// SYNC: nn.sub %[[V1]]
