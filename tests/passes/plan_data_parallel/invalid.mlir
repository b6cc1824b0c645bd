// RUN: pdc-opt %s -split-input-file -verify-diagnostics -plan-data-parallel="ranks=3"

// more ranks than samples
// expected-error @below {{has a batch of 2 for 3 ranks: every rank needs at least one sample}}
nn.step "infer" @s(%x: tensor<2x4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<2x4xf32> {nn.role = "output", nn.name = "y"}) {
  nn.return %x : tensor<2x4xf32>
}

// -----

// inputs of different batches
// expected-error @below {{input 'y' has 5 samples, other inputs have 4}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}, %y: tensor<5xf32> {nn.role = "input", nn.name = "y"})
    -> (tensor<4xf32> {nn.role = "output", nn.name = "z"}) {
  nn.return %x : tensor<4xf32>
}

// -----

// a parameter with the batch as a dimension
// expected-error @below {{parameter 'w' is used together with the batch, dimension by dimension}}
nn.step "infer" @s(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x"},
           %w: tensor<4x2xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.add %x, %w : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  nn.return %0 : tensor<4x2xf32>
}
