// RUN: pdc-opt --pipeline='order="F0 B0 F1 B1"' %s --split-input-file --verify-diagnostics

// fewer samples than micro-batches
dist.mesh @mesh axes(["data" = 1])
// expected-error @below {{has a batch of 1 for 2 micro-batches: every micro-batch needs at least one sample}}
nn.step "evaluate" @s(%x: tensor<1x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}) attributes {dist.mesh = @mesh} {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<1x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// the model computes with a sum over the whole batch
dist.mesh @mesh axes(["data" = 1])
nn.step "evaluate" @s(%w: tensor<4xf32> {nn.role = "parameter", nn.name = "w"}, %x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}) attributes {dist.mesh = @mesh} {
  %h = nn.mul %x, %w : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  // expected-error @below {{is a sum over the whole batch that the model goes on to compute with}}
  %sum = nn.reduce_sum %h {axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %y = nn.mul %h, %sum : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// the largest over the batch
dist.mesh @mesh axes(["data" = 1])
nn.step "evaluate" @s(%x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<4xf32> {nn.role = "metric", nn.name = "m"}) attributes {dist.mesh = @mesh} {
  // expected-error @below {{takes the largest over the batch}}
  %most = nn.reduce_max %x {axes = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4xf32>
  nn.return %most : tensor<4xf32>
}

// -----

// a step without a plan
// expected-error @below {{is not planned, or partitioned already}}
nn.step "evaluate" @s(%x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}) {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<4x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
