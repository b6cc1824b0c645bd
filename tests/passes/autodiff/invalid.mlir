// RUN: pdc-opt %s --autodiff="modes=train" --split-input-file --verify-diagnostics

// An op without a gradient between a parameter and the loss.
nn.model @no_gradient(%x: tensor<2xf32>) -> tensor<f32> {
  %w = nn.param "scale" init(ones) : tensor<2xf32>
  // expected-error @+1 {{has no gradient, but the loss depends on parameter 'scale' through it}}
  %y = nn.relu_grad %x, %w : tensor<2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Nothing to train.
// expected-error @+1 {{model @nothing has no parameters, so it cannot be used to train}}
nn.model @nothing(%x: tensor<2xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A parameter in f64.
nn.model @wide(%x: tensor<2xf64>) -> tensor<f64> {
  // expected-error @+1 {{'w' is 'tensor<2xf64>'; training needs parameters in f32}}
  %w = nn.param "w" init(ones) : tensor<2xf64>
  %y = nn.mul %x, %w : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %loss = nn.reduce_sum %y {axes = array<i64: 0>} : (tensor<2xf64>) -> tensor<f64>
  nn.return %loss : tensor<f64>
}

// -----

// A batch that was not bound.
nn.model @unbound(%x: tensor<?x2xf32>) -> tensor<f32> {
  // expected-error @+1 {{gives 'tensor<?x2xf32>'; the batch must be bound before autodiff: run specialize}}
  %y = nn.relu %x : tensor<?x2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A state that is assigned twice.
nn.model @twice(%x: tensor<2xf32>) -> tensor<f32> {
  %w = nn.param "w" init(ones) : tensor<2xf32>
  %s = nn.state "s" init(ones) : tensor<2xf32>
  nn.assign %s, %x : tensor<2xf32>
  // expected-error @+1 {{assigns to state 's' a second time; each state takes one value a step}}
  nn.assign %s, %w : tensor<2xf32>
  %loss = nn.reduce_sum %w {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// expected-error @-2 {{expected one nn.model in the module, found 0}}
