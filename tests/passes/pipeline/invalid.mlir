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

// -----

// a value inside of the step that more ranks share than a micro-batch has samples
dist.mesh @mesh axes(["data" = 4])
nn.step "evaluate" @s(%x: tensor<5x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}) attributes {dist.mesh = @mesh} {
  // expected-error @below {{gives a value of type 'tensor<5x4xf32>', whose dimension 0 has the samples and the plan splits over 4 ranks, in layout #dist.layout<[["data"], []]>: of a batch of 5 in 2 micro-batches, a micro-batch of 2 has no sample for some; use a larger batch, fewer micro-batches or fewer ranks that share samples}}
  %part = dist.reshard %x {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<5x4xf32>
  %sum = nn.reduce_sum %part {axes = array<i64: 0, 1>, dist.layouts = [#dist.layout<[], sum = ["data"]>]} : (tensor<5x4xf32>) -> tensor<f32>
  %loss = dist.reshard %sum {dist.layouts = [#dist.layout<[]>]} : tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// samples that lie inside of a dimension: a micro-batch has 2 x 3 rows, of which 4 ranks can have some, but not in blocks of 3
dist.mesh @mesh axes(["data" = 4])
nn.step "evaluate" @s(%x: tensor<4x3x4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}) attributes {dist.mesh = @mesh} {
  %rows = nn.reshape %x : tensor<4x3x4xf32> to tensor<12x4xf32>
  // expected-error @below {{gives a value of type 'tensor<12x4xf32>', whose dimension 0 has the samples and the plan splits over 4 ranks}}
  %part = dist.reshard %rows {dist.layouts = [#dist.layout<[["data"] by 3, []]>]} : tensor<12x4xf32>
  %sum = nn.reduce_sum %part {axes = array<i64: 0, 1>, dist.layouts = [#dist.layout<[], sum = ["data"]>]} : (tensor<12x4xf32>) -> tensor<f32>
  %loss = dist.reshard %sum {dist.layouts = [#dist.layout<[]>]} : tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// an input that more ranks share
dist.mesh @mesh axes(["data" = 2])
// expected-error @below {{has a batch of 3 in 2 micro-batches of input 'x', which the plan splits over 2 ranks: a micro-batch of 1 has no sample for some}}
nn.step "evaluate" @s(%x: tensor<3x4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<f32> {nn.role = "loss", nn.name = "loss"}) attributes {dist.mesh = @mesh} {
  %sum = nn.reduce_sum %x {axes = array<i64: 0, 1>, dist.layouts = [#dist.layout<[], sum = ["data"]>]} : (tensor<3x4xf32>) -> tensor<f32>
  %loss = dist.reshard %sum {dist.layouts = [#dist.layout<[]>]} : tensor<f32>
  nn.return %loss : tensor<f32>
}
