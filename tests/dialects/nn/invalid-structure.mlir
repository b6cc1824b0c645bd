// Mistakes in models, blocks, parameters and calls: one error each, at its place.
// RUN: pdc-opt %s -split-input-file -verify-diagnostics

// Undefined value.
nn.model @m(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{use of undeclared SSA value name}}
  nn.return %loss : tensor<f32>
}

// -----

// Unknown operation.
nn.model @m(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{custom op 'nn.rleu' is unknown}}
  %y = nn.rleu %x : tensor<?xf32>
  nn.return %y : tensor<f32>
}

// -----

// Missing return.
// expected-error @+1 {{'nn.model' op has no nn.return at its end: expected one with 1 operands, the results}}
nn.model @m(%x: tensor<?xf32>) -> tensor<f32> {
  %w = nn.param "w" init(zeros) : tensor<4xf32>
}

// -----

// Empty body.
// expected-error @+1 {{'nn.model' op has no nn.return at its end}}
nn.model @m(%x: tensor<?xf32>) -> tensor<f32> {
}

// -----

// Return of another type.
nn.model @m(%x: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.return' op operand #0 has type 'tensor<?xf32>': expected 'tensor<f32>', as result #0 of @m}}
  nn.return %x : tensor<?xf32>
}

// -----

// Return of another number of values.
nn.model @m(%x: tensor<?xf32>) -> (loss: tensor<f32>, y: tensor<?xf32>) {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  // expected-error @+1 {{'nn.return' op has 1 operands: expected 2, the results of @m}}
  nn.return %loss : tensor<f32>
}

// -----

// Loss that is not a scalar.
// expected-error @+1 {{'nn.model' op result #0 has type 'tensor<?xf32>': expected the loss first, a floating-point scalar such as tensor<f32>}}
nn.model @m(%x: tensor<?xf32>) -> tensor<?xf32> {
  nn.return %x : tensor<?xf32>
}

// -----

// Loss of integer type.
// expected-error @+1 {{'nn.model' op result #0 has type 'tensor<i32>': expected the loss first}}
nn.model @m(%x: tensor<?xf32>) -> tensor<i32> {
  %0 = nn.constant dense<0> : tensor<i32>
  nn.return %0 : tensor<i32>
}

// -----

// No result.
// expected-error @+1 {{'nn.model' op has no result: expected the loss, such as `-> tensor<f32>`}}
nn.model @m(%x: tensor<?xf32>) {
  nn.return
}

// -----

// Result without a name.
// expected-error @+1 {{'nn.model' op result #1 has no name: expected `-> (loss: tensor<f32>, logits: ...)`}}
nn.model @m(%x: tensor<?xf32>) -> (tensor<f32>, tensor<?xf32>) {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  nn.return %loss, %x : tensor<f32>, tensor<?xf32>
}

// -----

// Two results of one name.
// expected-error @+1 {{'nn.model' op has two results called "loss": expected different names}}
nn.model @m(%x: tensor<?xf32>) -> (loss: tensor<f32>, loss: tensor<?xf32>) {
  %loss = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
  nn.return %loss, %x : tensor<f32>, tensor<?xf32>
}

// -----

// Result without the batch.
// expected-error @+1 {{'nn.model' op result #1 has type 'tensor<4xf32>': expected a scalar, or the batch as dimension 0 as in 'tensor<?x4xf32>'}}
nn.model @m(%x: tensor<?x4xf32>) -> (loss: tensor<f32>, y: tensor<4xf32>) {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  %y = nn.reduce_sum %x {axes = array<i64: 0>} : (tensor<?x4xf32>) -> tensor<4xf32>
  nn.return %loss, %y : tensor<f32>, tensor<4xf32>
}

// -----

// Batch in another dimension than 0.
// expected-error @+1 {{'nn.model' op argument #0 has type 'tensor<?x?xf32>': expected `?`, the batch, in dimension 0 only}}
nn.model @m(%x: tensor<?x?xf32>) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x?xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Batch in two dimensions.
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.matmul' op result #0 has type 'tensor<?x?xf32>': expected at most one dimension `?`, the batch}}
  %t = nn.matmul %x, %x {transpose_rhs} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %loss = nn.reduce_sum %t {axes = array<i64: 0, 1>} : (tensor<?x?xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Different batches.
// expected-error @+1 {{'nn.model' op argument #1 has type 'tensor<8xi32>', argument #0 has type 'tensor<?x4xf32>': expected the same batch as dimension 0 of every argument}}
nn.model @m(%x: tensor<?x4xf32>, %label: tensor<8xi32>) -> tensor<f32> {
  %loss = nn.constant dense<0.0> : tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Argument without a batch.
// expected-error @+1 {{'nn.model' op argument #0 has type 'tensor<f32>': expected the batch as dimension 0, as in 'tensor<?xf32>'}}
nn.model @m(%x: tensor<f32>) -> tensor<f32> {
  nn.return %x : tensor<f32>
}

// -----

// Argument that is no tensor.
// expected-error @+1 {{'nn.model' op argument #0 has type 'f32': expected a tensor of known rank}}
nn.model @m(%x: f32) -> tensor<f32> {
  %loss = nn.constant dense<0.0> : tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Unranked argument.
// expected-error @+1 {{'nn.model' op argument #0 has type 'tensor<*xf32>': expected a tensor of known rank}}
nn.model @m(%x: tensor<*xf32>) -> tensor<f32> {
  %loss = nn.constant dense<0.0> : tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Names for too few dimensions.
// expected-error @+1 {{'nn.model' op argument #0 has nn.dims = ["batch"]: expected 2 names, as many as 'tensor<?x4xf32>' has dimensions}}
nn.model @m(%x: tensor<?x4xf32> {nn.dims = ["batch"]}) -> tensor<f32> {
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Two parameters of one name.
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-note @+1 {{the first is here}}
  %w = nn.param "w" init(zeros) : tensor<4xf32>
  // expected-error @+1 {{'nn.param' op gives the name "w" to a second parameter or state: expected different names}}
  %v = nn.param "w" init(ones) : tensor<4xf32>
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Two calls with one prefix.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = nn.param "w" init(zeros) : tensor<4xf32>
  nn.return %x : tensor<?x4xf32>
}
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-note @+1 {{the first is here}}
  %0 = nn.repeat 2 @b "h" (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // expected-error @+1 {{'nn.call' op gives the name "h1.w" to a second parameter or state: expected different names, from different prefixes}}
  %1 = nn.call @b "h1." (%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %loss = nn.reduce_sum %1 {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A declared shape of other elements.
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.param' op "w" has the declared shape [4x5]: expected one of as many elements as 'tensor<4x2x2xf32>' has}}
  %w = nn.param "w" init(zeros) {declared_shape = array<i64: 4, 5>} : tensor<4x2x2xf32>
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A declared shape that has no fans.
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.param' op "w": initializer 'xavier' needs fans, which follow from the shapes [in, out] or [out, in, height, width]; found shape [16]}}
  %w = nn.param "w" init(xavier) {declared_shape = array<i64: 16>} : tensor<4x4xf32>
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Parameter of integer type.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.param' op "w" has element type 'i32': expected a floating-point type, since parameters are trained}}
  %w = nn.param "w" init(zeros) : tensor<4xi32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Parameter with the batch as a dimension.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.param' op "w" has type 'tensor<?x4xf32>': expected a static shape}}
  %w = nn.param "w" init(zeros) : tensor<?x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Parameter without elements.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.param' op "w" has type 'tensor<0x4xf32>': expected at least one element}}
  %w = nn.param "w" init(zeros) : tensor<0x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Parameter without a name.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.param' op expected a name that is not empty}}
  %w = nn.param "" init(zeros) : tensor<4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Names for too many dimensions.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.param' op "w" names 2 dimensions: expected 1, as many as 'tensor<4xf32>' has}}
  %w = nn.param "w" init(zeros) dims("in", "out") : tensor<4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Unknown initializer.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{unknown initializer 'he': expected one of zeros, ones, constant, normal, truncated_normal, uniform, kaiming, kaiming_uniform, xavier, xavier_normal}}
  %w = nn.param "w" init(he) : tensor<4x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Initializer without its values.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{initializer 'normal' has 0 values: expected normal(std) or normal(mean, std)}}
  %w = nn.param "w" init(normal) : tensor<4x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Initializer with a value that is no number.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{expected a number, found "small"}}
  %w = nn.param "w" init(normal("small")) : tensor<4x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Negative standard deviation.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{initializer 'normal' has the negative standard deviation}}
  %w = nn.param "w" init(normal(-0.02)) : tensor<4x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Bounds in the wrong order.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{initializer 'uniform' has low}}
  %w = nn.param "w" init(uniform(1.0, -1.0)) : tensor<4x4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Initializer that needs fans on a vector.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.param' op "b": initializer 'kaiming' needs fans, which follow from the shapes [in, out] or [out, in, height, width]; found shape [4]: use normal(std) or uniform(low, high) there}}
  %b = nn.param "b" init(kaiming) : tensor<4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Random initializer for an integer state.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.state' op "n" has element type 'i32': expected init(zeros), init(ones) or init(constant(...)) for integers}}
  %n = nn.state "n" init(normal(1.0)) : tensor<4xi32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Assignment to a parameter.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %w = nn.param "w" init(zeros) : tensor<4xf32>
  // expected-error @+1 {{'nn.assign' op expected the result of an nn.state as its first operand: only a state can be assigned}}
  nn.assign %w, %w : tensor<4xf32>
  nn.return %x : tensor<?x4xf32>
}

// -----

// Unknown block.
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.call' op uses the unknown block @layer: expected an nn.block of that name in this file}}
  %0 = nn.call @layer "a." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %loss = nn.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Call of a model.
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.call' op uses @m, which is an nn.model: expected an nn.block}}
  %0 = nn.call @m "a." (%x) : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %0 : tensor<f32>
}

// -----

// Block that uses itself.
nn.block @a(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = nn.call @b "b." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.call' op makes @b use itself: blocks cannot be recursive}}
  %0 = nn.call @a "a." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Call with another type.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  nn.return %x : tensor<?x4xf32>
}
nn.model @m(%x: tensor<?x8xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.call' op operand #0 has type 'tensor<?x8xf32>': expected 'tensor<?x4xf32>', as of @b}}
  %0 = nn.call @b "a." (%x) : (tensor<?x8xf32>) -> tensor<?x4xf32>
  %loss = nn.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Call with too few operands.
nn.block @b(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
  nn.return %x : tensor<?x4xf32>
}
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.call' op has 1 operands: expected 2, as @b has}}
  %0 = nn.call @b "a." (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %loss = nn.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Repeat without repetition.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  nn.return %x : tensor<?x4xf32>
}
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.repeat' op has count 0: expected at least 1}}
  %0 = nn.repeat 0 @b "h" (%x) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %loss = nn.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Repeat that carries values of different types.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x8xf32> {
  %w = nn.param "w" init(kaiming) : tensor<4x8xf32>
  %0 = nn.linear %x, %w : (tensor<?x4xf32>, tensor<4x8xf32>) -> tensor<?x8xf32>
  nn.return %0 : tensor<?x8xf32>
}
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.repeat' op result #0 has type 'tensor<?x8xf32>': expected 'tensor<?x4xf32>', the type of operand #0, since one application's results are the next one's operands}}
  %0 = nn.repeat 2 @b "h" (%x) : (tensor<?x4xf32>) -> tensor<?x8xf32>
  %loss = nn.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x8xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Two definitions of one block.
// expected-note @+1 {{see existing symbol definition here}}
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  nn.return %x : tensor<?x4xf32>
}
// expected-error @+1 {{redefinition of symbol named 'b'}}
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  nn.return %x : tensor<?x4xf32>
}

// -----

// Use of another function's value.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  nn.return %x : tensor<?x4xf32>
}
nn.model @m(%y: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{use of undeclared SSA value name}}
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x4xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Use of a value with another type than it has.
// expected-note @+1 {{prior use here}}
nn.model @m(%x: tensor<?x4xf32>) -> tensor<f32> {
  // expected-error @+1 {{use of value '%x' expects different type than prior uses: 'tensor<?x8xf32>' vs 'tensor<?x4xf32>'}}
  %loss = nn.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<?x8xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Step of an unknown kind.
// expected-error @+1 {{'nn.step' op has kind "tune": expected one of train, gradient, evaluate, infer}}
nn.step "tune" @s(%x: tensor<4xf32> {nn.role = "input"}) -> (y: tensor<4xf32> {nn.role = "output"}) {
  nn.return %x : tensor<4xf32>
}

// -----

// Step argument without a role.
// expected-error @+1 {{'nn.step' op argument #0 has nn.role missing: expected one of parameter, optimizer_state, state, input, learning_rate, step, seed}}
nn.step "infer" @s(%x: tensor<4xf32>) -> (y: tensor<4xf32> {nn.role = "output"}) {
  nn.return %x : tensor<4xf32>
}

// -----

// Matrix multiplication inside a fusion.
nn.block @b(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.fusion(%a = %x : tensor<4x4xf32>) -> tensor<4x4xf32> {
    // expected-error @+1 {{'nn.matmul' op stands in an nn.fusion: expected elementwise ops, reductions and constants only}}
    %1 = nn.matmul %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    nn.yield %1 : tensor<4x4xf32>
  }
  nn.return %0 : tensor<4x4xf32>
}

// -----

// Donation of a buffer of another type.
nn.block @b(%x: tensor<4xf32>, %y: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.fusion' op donates operand #1 of type 'tensor<2xf32>' to result #0 of type 'tensor<4xf32>': expected equal types}}
  %0 = nn.fusion(%a = %x : tensor<4xf32>, %b = %y : tensor<2xf32>) -> tensor<4xf32> attributes {donate = [[1, 0]]} {
    nn.yield %a : tensor<4xf32>
  }
  nn.return %0 : tensor<4xf32>
}
