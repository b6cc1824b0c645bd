// RUN: pdc-opt %s --verify-specialized --split-input-file --verify-diagnostics

// expected-error @+1 {{argument 0 of model @batch is 'tensor<?xf32>'; its batch should have been bound}}
nn.model @batch(%x: tensor<?xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

nn.model @stream(%x: tensor<2xf32>) -> tensor<f32> {
  // expected-error @+1 {{has no stream; specialize should have given it one}}
  %y = nn.dropout %x {rate = 0.5 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

nn.model @streams(%x: tensor<2xf32>) -> tensor<f32> {
  %y = nn.dropout %x {rate = 0.5 : f64, stream = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  // expected-error @+1 {{has stream 1, which another nn.dropout has too}}
  %z = nn.dropout %y {rate = 0.5 : f64, stream = 1 : i64} : (tensor<2xf32>) -> tensor<2xf32>
  %loss = nn.reduce_sum %z {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// expected-error @+1 {{should have been expanded by specialize}}
nn.block @left(%x: tensor<2xf32>) -> tensor<2xf32> {
  nn.return %x : tensor<2xf32>
}
