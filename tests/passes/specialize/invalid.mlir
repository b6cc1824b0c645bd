// RUN: pdc-opt %s --specialize=batch=3 --split-input-file --verify-diagnostics

// A static batch that is not the one given.
// expected-error @+1 {{the batch of model @static is 2 in argument 0, not 3: write `?` as its dimension 0, or leave --batch out}}
nn.model @static(%x: tensor<2x3xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A reshape that joins more than fits.
nn.model @reshape(%x: tensor<?x2xf32>) -> tensor<f32> {
  // expected-error @+1 {{cannot give the 6 elements of 'tensor<3x2xf32>' the shape 'tensor<?x4xf32>'}}
  %y = nn.reshape %x : tensor<?x2xf32> to tensor<?x4xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
