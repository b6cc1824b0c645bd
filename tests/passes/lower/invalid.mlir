// RUN: pdc-opt %s -split-input-file -verify-diagnostics -lower

// an op outside of a fusion
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "y"})
    attributes {dist.ranks = array<i64: 0>} {
  // expected-error @below {{fuse must run before lower}}
  %0 = nn.relu %x : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// a step that is not partitioned
// expected-error @below {{is not partitioned: it has no attribute dist.ranks}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "y"}) {
  nn.return %x : tensor<4xf32>
}

// -----

// a micro-batch outside of the batch
// expected-error @below {{argument 0 has samples [8, 12) of the batch (dist.batch_part), expected some of the 10 that the step states (dist.batch)}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x", dist.batch_part = 8}) -> (tensor<4xf32> {nn.role = "output", nn.name = "y"})
    attributes {dist.ranks = array<i64: 0>, dist.batch = 10} {
  nn.return %x : tensor<4xf32>
}

// -----

// a micro-batch of no batch
// expected-error @below {{argument 0 has samples [0, 4) of the batch (dist.batch_part), expected some of the 0 that the step states (dist.batch)}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x", dist.batch_part = 0}) -> (tensor<4xf32> {nn.role = "output", nn.name = "y"})
    attributes {dist.ranks = array<i64: 0>} {
  nn.return %x : tensor<4xf32>
}
