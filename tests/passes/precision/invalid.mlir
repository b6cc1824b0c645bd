// RUN: pdc-opt %s --precision=type=bf16 --split-input-file --verify-diagnostics

// An input in f64.
// expected-error @+1 {{argument 0 of model @input is 'tensor<4xf64>'; precision 'bf16' starts from f32}}
nn.model @input(%x: tensor<4xf64>) -> tensor<f64> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<4xf64>) -> tensor<f64>
  nn.return %loss : tensor<f64>
}

// -----

// A parameter in f64.
nn.model @param(%x: tensor<4xf32>) -> tensor<f64> {
  // expected-error @+1 {{gives 'tensor<4xf64>'; precision 'bf16' starts from a model in f32}}
  %w = nn.param "w" init(ones) : tensor<4xf64>
  %loss = nn.reduce_sum %w {axes = array<i64: 0>} : (tensor<4xf64>) -> tensor<f64>
  nn.return %loss : tensor<f64>
}
