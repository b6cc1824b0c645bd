// RUN: pdc-opt %s --specialize=batch=17592186044416 --split-input-file --verify-diagnostics
// RUN: not pdc-opt %s --specialize=batch=9223372036854775807 2>&1 | FileCheck %s --check-prefix=LARGEST

// Sizes that are too large for any machine, or for 64 bits, are refused before anything is computed from them. The batch
// is 2^44.

// The input: the product does not fit 64 bits in the second run.
// LARGEST: error: argument 0, 'x', of model @argument is 'tensor<9223372036854775807x8xf32>': more than the 2^46 bytes
// expected-error @+1 {{argument 0, 'x', of model @argument is 'tensor<17592186044416x8xf32>': more than the 2^46 bytes (64 TiB) that a value may have; lower --batch, or make the model smaller}}
nn.model @argument(%x: tensor<?x8xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x8xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A value of the model; the op is named by its part of the model. 2^46 bytes are not too many.
nn.model @value(%x: tensor<?x4xi8>) -> tensor<f32> {
  %w = nn.param "wide.weight" init(zeros) : tensor<4x5xf32>
  // expected-error @+1 {{'nn.cast' op gives 'tensor<17592186044416x4xf32>': more than the 2^46 bytes}}
  %f = nn.cast %x : tensor<?x4xi8> to tensor<?x4xf32>
  %y = nn.linear %f, %w : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<?x5xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

nn.model @layer(%x: tensor<?x1xf32>) -> tensor<f32> {
  %w = nn.param "wide.weight" init(zeros) : tensor<1x5xf32>
  // expected-error @+1 {{'nn.linear' op of 'wide' gives 'tensor<17592186044416x5xf32>': more than the 2^46 bytes}}
  %y = nn.linear %x, %w : (tensor<?x1xf32>, tensor<1x5xf32>) -> tensor<?x5xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<?x5xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

nn.model @parameter(%x: tensor<?x1xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.param' op of 'huge.weight' gives 'tensor<4294967296x4294967296xf32>': more than the 2^46 bytes}}
  %w = nn.param "huge.weight" init(zeros) : tensor<4294967296x4294967296xf32>
  %loss = nn.reduce_sum %w {axes = array<i64: 0, 1>} : (tensor<4294967296x4294967296xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// In a block that is used: the place of the use follows.
nn.block @pool(%x: tensor<?x1xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'nn.concat' op of 'h1' gives 'tensor<17592186044416x8xf32>': more than the 2^46 bytes}}
  %y = nn.concat %x, %x, %x, %x, %x, %x, %x, %x {axis = 1 : i64} : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  nn.return %y : tensor<?x8xf32>
}
nn.model @block(%x: tensor<?x1xf32>) -> tensor<f32> {
  %y = nn.call @pool "h1." (%x) : (tensor<?x1xf32>) -> tensor<?x8xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<?x8xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
