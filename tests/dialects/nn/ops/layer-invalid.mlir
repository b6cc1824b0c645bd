// Each mistake gets one error that says what was expected and what was found.
// RUN: pdc-opt %s --split-input-file --verify-diagnostics

func.func @layer_norm_scale_of_wrong_length(%x: tensor<?x8xf32>, %g: tensor<9xf32>) {
  // expected-error @+1 {{'nn.layer_norm' op expected scale 'tensor<8xf32>' for the input 'tensor<?x8xf32>', found 'tensor<9xf32>'}}
  %0 = nn.layer_norm %x, %g : (tensor<?x8xf32>, tensor<9xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @layer_norm_bias_unlike_scale(%x: tensor<?x8xbf16>, %g: tensor<8xf32>, %b: tensor<8xbf16>) {
  // expected-error @+1 {{'nn.layer_norm' op expected bias of the scale's type 'tensor<8xf32>', found 'tensor<8xbf16>'}}
  %0 = nn.layer_norm %x, %g, %b : (tensor<?x8xbf16>, tensor<8xf32>, tensor<8xbf16>) -> tensor<?x8xbf16>
  return
}

// -----

func.func @rms_norm_scale_of_wrong_rank(%x: tensor<?x8xf32>, %g: tensor<1x8xf32>) {
  // expected-error @+1 {{'nn.rms_norm' op expected scale 'tensor<8xf32>' for the input 'tensor<?x8xf32>', found 'tensor<1x8xf32>'}}
  %0 = nn.rms_norm %x, %g : (tensor<?x8xf32>, tensor<1x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @batch_norm_statistics_of_wrong_length(%x: tensor<?x8x4x4xf32>, %g: tensor<8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{'nn.batch_norm' op expected running_mean 'tensor<8xf32>' for the input 'tensor<?x8x4x4xf32>', found 'tensor<4xf32>'}}
  %0 = nn.batch_norm %x, %g, %g, %m, %g
      : (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  return
}

// -----

func.func @causal_softmax_with_few_columns(%x: tensor<2x8x4xf32>) {
  // expected-error @+1 {{'nn.softmax' op expected at least as many columns as rows, static, for `causal`, found 'tensor<2x8x4xf32>'}}
  %0 = nn.softmax %x {causal} : (tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
  return
}

// -----

func.func @attention_of_rank_three(%q: tensor<?x6x32xf32>) {
  // expected-error @+1 {{'nn.attention' op expected query [b, tq, heads, d] of rank 4, found 'tensor<?x6x32xf32>'}}
  %0 = nn.attention %q, %q, %q : (tensor<?x6x32xf32>, tensor<?x6x32xf32>, tensor<?x6x32xf32>) -> tensor<?x6x32xf32>
  return
}

// -----

func.func @attention_heads_differ(%q: tensor<?x6x4x8xf32>, %k: tensor<?x6x2x8xf32>) {
  // expected-error @+1 {{'nn.attention' op expected query, key and value with equally many heads (dimension 2), found 'tensor<?x6x4x8xf32>', 'tensor<?x6x2x8xf32>' and 'tensor<?x6x2x8xf32>'}}
  %0 = nn.attention %q, %k, %k : (tensor<?x6x4x8xf32>, tensor<?x6x2x8xf32>, tensor<?x6x2x8xf32>) -> tensor<?x6x4x8xf32>
  return
}

// -----

func.func @attention_head_widths_differ(%q: tensor<?x6x4x8xf32>, %k: tensor<?x6x4x9xf32>) {
  // expected-error @+1 {{'nn.attention' op expected query and key with one head width d (dimension 3), found 'tensor<?x6x4x8xf32>' and 'tensor<?x6x4x9xf32>'}}
  %0 = nn.attention %q, %k, %k : (tensor<?x6x4x8xf32>, tensor<?x6x4x9xf32>, tensor<?x6x4x9xf32>) -> tensor<?x6x4x9xf32>
  return
}

// -----

func.func @attention_lengths_differ(%q: tensor<?x6x4x8xf32>, %v: tensor<?x7x4x8xf32>) {
  // expected-error @+1 {{'nn.attention' op expected key and value of one length tk (dimension 1), found 'tensor<?x6x4x8xf32>' and 'tensor<?x7x4x8xf32>'}}
  %0 = nn.attention %q, %q, %v : (tensor<?x6x4x8xf32>, tensor<?x6x4x8xf32>, tensor<?x7x4x8xf32>) -> tensor<?x6x4x8xf32>
  return
}

// -----

func.func @dropout_of_everything(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'nn.dropout' op expected a rate of 0 or more and less than 1, found 1.0}}
  %0 = nn.dropout %x {rate = 1.0 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @cross_entropy_labels_of_another_shape(%x: tensor<?x6x10xf32>, %y: tensor<?xi32>) {
  // expected-error @+1 {{'nn.cross_entropy' op expected labels 'tensor<?x6xi32>', one per row of the logits 'tensor<?x6x10xf32>', found 'tensor<?xi32>'}}
  %0 = nn.cross_entropy %x, %y : (tensor<?x6x10xf32>, tensor<?xi32>) -> tensor<f32>
  return
}

// -----

func.func @cross_entropy_labels_of_floats(%x: tensor<?x10xf32>, %y: tensor<?xf32>) {
  // expected-error @+1 {{'nn.cross_entropy' op operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<?xf32>'}}
  %0 = nn.cross_entropy %x, %y : (tensor<?x10xf32>, tensor<?xf32>) -> tensor<f32>
  return
}

// -----

func.func @mse_shapes_differ(%x: tensor<?x10xf32>, %y: tensor<?x1xf32>) {
  // expected-error @+1 {{'nn.mse' op expected prediction and target of one shape, found 'tensor<?x10xf32>' and 'tensor<?x1xf32>'}}
  %0 = nn.mse %x, %y : (tensor<?x10xf32>, tensor<?x1xf32>) -> tensor<f32>
  return
}

// -----

func.func @accuracy_of_half_precision(%x: tensor<?x10xf32>, %y: tensor<?xi32>) {
  // expected-error @+1 {{'nn.accuracy' op expected type 'tensor<f32>' for result #0, found 'tensor<bf16>'}}
  %0 = nn.accuracy %x, %y : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<bf16>
  return
}
