// RUN: pdc-opt %s --verify-step --split-input-file --verify-diagnostics

// expected-error @+1 {{should have become steps}}
nn.model @model(%x: tensor<2xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

nn.step "evaluate" @composite(%x: tensor<2xf32> {nn.role = "input"}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  // expected-error @+1 {{should have been decomposed before autodiff}}
  %loss = nn.mse %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

nn.step "evaluate" @param() -> (loss: tensor<f32> {nn.role = "loss"}) {
  // expected-error @+1 {{should have become an argument or result of the step}}
  %w = nn.param "w" init(ones) : tensor<f32>
  nn.return %w : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0, parameter 'w', needs an nn.init}}
nn.step "evaluate" @init(%w: tensor<f32> {nn.role = "parameter"}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  nn.return %w : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0, parameter 'w', has the nn.declared_shape array<i64: 5>: expected, of parameters and optimizer state only, array<i64: ...> with as many elements as 'tensor<2x3xf32>' has}}
nn.step "evaluate" @declared(%w: tensor<2x3xf32> {nn.role = "parameter", nn.init = #nn.init<zeros>, nn.declared_shape = array<i64: 5>}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  %0 = nn.constant dense<0.0> : tensor<f32>
  nn.return %0 : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0, optimizer_state "m" of 'w', comes without that parameter}}
nn.step "train" @slot(%w: tensor<f32> {nn.role = "optimizer_state", nn.slot = "m", nn.init = #nn.init<zeros>}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  nn.return %w : tensor<f32>
}

// -----

// expected-error @+1 {{argument 0, the learning_rate, must be tensor<f32>, but is 'tensor<2xf32>'}}
nn.step "train" @rate(%r: tensor<2xf32> {nn.role = "learning_rate"}, %l: tensor<f32> {nn.role = "input"}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  nn.return %l : tensor<f32>
}

// -----

// expected-error @+1 {{has no new value of parameter 'w' among its results}}
nn.step "train" @update(%w: tensor<f32> {nn.role = "parameter", nn.init = #nn.init<ones>}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  nn.return %w : tensor<f32>
}

// -----

// expected-error @+1 {{has no gradient of parameter 'w' among its results}}
nn.step "gradient" @gradient(%w: tensor<f32> {nn.role = "parameter", nn.init = #nn.init<ones>}) -> (loss: tensor<f32> {nn.role = "loss"}) {
  nn.return %w : tensor<f32>
}

// -----

// expected-error @+1 {{result 1 is the new value of parameter 'v', which is no argument}}
nn.step "train" @unknown(%x: tensor<f32> {nn.role = "input"}) -> (loss: tensor<f32> {nn.role = "loss"}, v: tensor<f32> {nn.role = "parameter"}) {
  nn.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{result 1, state 's', is 'tensor<f32>', but its argument is 'tensor<2xf32>'}}
nn.step "train" @type(%x: tensor<f32> {nn.role = "input"}, %s: tensor<2xf32> {nn.role = "state", nn.init = #nn.init<ones>}) -> (loss: tensor<f32> {nn.role = "loss"}, s: tensor<f32> {nn.role = "state"}) {
  nn.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{result 1 has the role "gradient"; in a step of kind "evaluate" it may be "loss", "metric"}}
nn.step "evaluate" @role(%x: tensor<f32> {nn.role = "input"}) -> (loss: tensor<f32> {nn.role = "loss"}, w: tensor<f32> {nn.role = "gradient"}) {
  nn.return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{has 0 losses among its results, expected one}}
nn.step "evaluate" @none(%x: tensor<f32> {nn.role = "input"}) -> (m: tensor<f32> {nn.role = "metric"}) {
  nn.return %x : tensor<f32>
}

// -----

// expected-error @+1 {{result 0, the loss, must be a floating-point scalar, but is 'tensor<2xf32>'}}
nn.step "evaluate" @vector(%x: tensor<2xf32> {nn.role = "input"}) -> (loss: tensor<2xf32> {nn.role = "loss"}) {
  nn.return %x : tensor<2xf32>
}
