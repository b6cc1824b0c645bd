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
