// Mistakes in the use of operations: one error each, at its place.
// RUN: pdc-opt %s -split-input-file -verify-diagnostics

// Shapes that do not broadcast.
nn.block @b(%x: tensor<?x4xf32>, %y: tensor<3xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.add' op has operands of shapes [?x4] and [3]: expected equal sizes, or size 1, counted from the last dimension}}
  %0 = nn.add %x, %y : (tensor<?x4xf32>, tensor<3xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Batch added to a fixed size.
nn.block @b(%x: tensor<?x4xf32>, %y: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.add' op has operands of shapes [?x4] and [8x4]}}
  %0 = nn.add %x, %y : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Element types that differ.
nn.block @b(%x: tensor<?x4xf32>, %y: tensor<4xi32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.mul' op has operands of element types 'f32' and 'i32': expected one type; convert one with nn.cast}}
  %0 = nn.mul %x, %y : (tensor<?x4xf32>, tensor<4xi32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Result of the wrong shape.
nn.block @b(%x: tensor<?x4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.sub' op expected type 'tensor<?x4xf32>' for result #0, found 'tensor<4xf32>'}}
  %0 = nn.sub %x, %y : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// Division of integers.
nn.block @b(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{'nn.div' op has operands of element type 'i32': expected a floating-point type; convert them with nn.cast}}
  %0 = nn.div %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  nn.return %0 : tensor<4xi32>
}

// -----

// Sum of truth values.
nn.block @b(%x: tensor<4xi1>) -> tensor<4xi1> {
  // expected-error @+1 {{'nn.add' op has operands of element type 'i1': expected a floating-point or signed integer type; convert them with nn.cast}}
  %0 = nn.add %x, %x : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  nn.return %0 : tensor<4xi1>
}

// -----

// Activation of integers.
nn.block @b(%x: tensor<?x4xi32>) -> tensor<?x4xi32> {
  // expected-error @+1 {{'nn.relu' op operand #0 must be}}
  %0 = nn.relu %x : tensor<?x4xi32>
  nn.return %0 : tensor<?x4xi32>
}

// -----

// Condition that is no truth value.
nn.block @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.select' op operand #0 must be}}
  %0 = nn.select %x, %x, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// Cast that changes the shape.
nn.block @b(%x: tensor<4xf32>) -> tensor<2x2xbf16> {
  // expected-error @+1 {{'nn.cast' op changes the shape from [4] to [2x2]: expected the same shape}}
  %0 = nn.cast %x : tensor<4xf32> to tensor<2x2xbf16>
  nn.return %0 : tensor<2x2xbf16>
}

// -----

// Reshape to another number of elements.
nn.block @b(%x: tensor<4x6xf32>) -> tensor<5x5xf32> {
  // expected-error @+1 {{'nn.reshape' op makes 25 elements of 24: expected as many in the result's shape [5x5] as in the input's [4x6]}}
  %0 = nn.reshape %x : tensor<4x6xf32> to tensor<5x5xf32>
  nn.return %0 : tensor<5x5xf32>
}

// -----

// Reshape of the batch to a fixed size.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<12xf32> {
  // expected-error @+1 {{'nn.reshape' op makes the static shape [12] of [?x6]: expected `?` in the result too}}
  %0 = nn.reshape %x : tensor<?x6xf32> to tensor<12xf32>
  nn.return %0 : tensor<12xf32>
}

// -----

// Reshape that cannot divide the batch.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.reshape' op cannot make [?x4] of [?x6]: expected the static dimensions' product 4 to divide 6 or the other way round}}
  %0 = nn.reshape %x : tensor<?x6xf32> to tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Permutation that names a dimension twice.
nn.block @b(%x: tensor<?x4x6xf32>) -> tensor<?x4x6xf32> {
  // expected-error @+1 {{'nn.transpose' op has permutation [0, 1, 1]: expected every dimension of 'tensor<?x4x6xf32>' once, counted from 0}}
  %0 = nn.transpose %x {permutation = array<i64: 0, 1, 1>} : (tensor<?x4x6xf32>) -> tensor<?x4x6xf32>
  nn.return %0 : tensor<?x4x6xf32>
}

// -----

// Broadcast of another size than 1.
nn.block @b(%x: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.broadcast' op cannot stretch [2] to [4]: expected equal sizes, or size 1 in the input}}
  %0 = nn.broadcast %x : tensor<2xf32> to tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// Slice beyond the end.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{'nn.slice' op takes 3 elements from 2 by stride 1 of dimension 1: expected to stay within its size 4}}
  %0 = nn.slice %x {offsets = array<i64: 0, 2>, sizes = array<i64: -1, 3>} : (tensor<?x4xf32>) -> tensor<?x3xf32>
  nn.return %0 : tensor<?x3xf32>
}

// -----

// Slice of the batch.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<2x4xf32> {
  // expected-error @+1 {{'nn.slice' op cuts dimension 0 of 'tensor<?x4xf32>': expected size -1, all of it, since it is the batch}}
  %0 = nn.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: 2, 4>} : (tensor<?x4xf32>) -> tensor<2x4xf32>
  nn.return %0 : tensor<2x4xf32>
}

// -----

// Slice with too few offsets.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x2xf32> {
  // expected-error @+1 {{'nn.slice' op has 1 offsets, 2 sizes and 0 strides: expected 2 of each (strides may be left out) for 'tensor<?x4xf32>'}}
  %0 = nn.slice %x {offsets = array<i64: 0>, sizes = array<i64: -1, 2>} : (tensor<?x4xf32>) -> tensor<?x2xf32>
  nn.return %0 : tensor<?x2xf32>
}

// -----

// Negative padding.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{'nn.pad' op pads dimension 1 by -1 and 0: expected 0 or more; nn.slice takes elements away}}
  %0 = nn.pad %x {low = array<i64: 0, -1>, high = array<i64: 0, 0>} : (tensor<?x4xf32>) -> tensor<?x3xf32>
  nn.return %0 : tensor<?x3xf32>
}

// -----

// Concatenation along a dimension that is not there.
nn.block @b(%x: tensor<?x4xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'nn.concat' op joins along dimension 2: expected 0 to 1 for 'tensor<?x4xf32>'}}
  %0 = nn.concat %x, %x {axis = 2 : i64} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x8xf32>
  nn.return %0 : tensor<?x8xf32>
}

// -----

// Concatenation of shapes that do not fit.
nn.block @b(%x: tensor<?x4x2xf32>, %y: tensor<?x4x3xf32>) -> tensor<?x8x2xf32> {
  // expected-error @+1 {{'nn.concat' op joins 'tensor<?x4x2xf32>' and operand #1 of type 'tensor<?x4x3xf32>': expected types that differ in dimension 1 only}}
  %0 = nn.concat %x, %y {axis = 1 : i64} : (tensor<?x4x2xf32>, tensor<?x4x3xf32>) -> tensor<?x8x2xf32>
  nn.return %0 : tensor<?x8x2xf32>
}

// -----

// Split into parts that do not add up.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?x2xf32> {
  // expected-error @+1 {{'nn.split' op has parts of 5 elements in all: expected 6, the size of dimension 1 of 'tensor<?x6xf32>'}}
  %0:2 = nn.split %x {axis = 1 : i64, sizes = array<i64: 2, 3>} : (tensor<?x6xf32>) -> (tensor<?x2xf32>, tensor<?x3xf32>)
  nn.return %0#0 : tensor<?x2xf32>
}

// -----

// Reduction over a dimension that is not there.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'nn.reduce_mean' op has axes [-1]: expected different ones in ascending order, from 0 to 1, for 'tensor<?x6xf32>'}}
  %0 = nn.reduce_mean %x {axes = array<i64: -1>} : (tensor<?x6xf32>) -> tensor<?xf32>
  nn.return %0 : tensor<?xf32>
}

// -----

// Reduction over nothing.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?x6xf32> {
  // expected-error @+1 {{'nn.reduce_sum' op has no axes: expected at least one dimension to reduce}}
  %0 = nn.reduce_sum %x {axes = array<i64>} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  nn.return %0 : tensor<?x6xf32>
}

// -----

// Missing attribute.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{'nn.reduce_sum' op requires attribute 'axes'}}
  %0 = nn.reduce_sum %x : (tensor<?x6xf32>) -> tensor<?xf32>
  nn.return %0 : tensor<?xf32>
}

// -----

// Wrong number of operands.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?x6xf32> {
  // expected-error @+1 {{'nn.add' op expected 2 operands, but found 1}}
  %0 = nn.add %x : (tensor<?x6xf32>) -> tensor<?x6xf32>
  nn.return %0 : tensor<?x6xf32>
}

// -----

// Pooling of the wrong rank.
nn.block @b(%x: tensor<?x6xf32>) -> tensor<?x6xf32> {
  // expected-error @+1 {{'nn.global_avg_pool2d' op expected input [n, c, h, w] of rank 4, found 'tensor<?x6xf32>'}}
  %0 = nn.global_avg_pool2d %x : (tensor<?x6xf32>) -> tensor<?x6xf32>
  nn.return %0 : tensor<?x6xf32>
}

// -----

// Weight that does not fit the input.
nn.block @b(%x: tensor<?x6xf32>, %w: tensor<5x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.linear' op expected weight [in, out] with in = 6, the last dimension of the input 'tensor<?x6xf32>', found 'tensor<5x4xf32>'}}
  %0 = nn.linear %x, %w : (tensor<?x6xf32>, tensor<5x4xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Bias that does not fit the weight.
nn.block @b(%x: tensor<?x6xf32>, %w: tensor<6x4xf32>, %b: tensor<6xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.linear' op expected bias 'tensor<4xf32>' for the weight 'tensor<6x4xf32>', found 'tensor<6xf32>'}}
  %0 = nn.linear %x, %w, %b : (tensor<?x6xf32>, tensor<6x4xf32>, tensor<6xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

// Inner dimensions that differ.
nn.block @b(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) -> tensor<2x5xf32> {
  // expected-error @+1 {{'nn.matmul' op expected equal inner dimensions k of lhs [..., m, k] and rhs [..., k, n], found 'tensor<2x3xf32>' and 'tensor<4x5xf32>'}}
  %0 = nn.matmul %x, %y : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  nn.return %0 : tensor<2x5xf32>
}

// -----

// Batches that differ.
nn.block @b(%x: tensor<2x3x4xf32>, %y: tensor<3x4x5xf32>) -> tensor<2x3x5xf32> {
  // expected-error @+1 {{'nn.batch_matmul' op expected lhs and rhs with equal batch dimensions, found 'tensor<2x3x4xf32>' and 'tensor<3x4x5xf32>'}}
  %0 = nn.batch_matmul %x, %y : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  nn.return %0 : tensor<2x3x5xf32>
}

// -----

// Image without channels.
nn.block @b(%x: tensor<?x8x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<?x4x6x6xf32> {
  // expected-error @+1 {{'nn.conv2d' op expected input}}
  %0 = nn.conv2d %x, %w : (tensor<?x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<?x4x6x6xf32>
  nn.return %0 : tensor<?x4x6x6xf32>
}

// -----

// Stride of three numbers.
nn.block @b(%x: tensor<?x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x6x6xf32> {
  // expected-error @+1 {{'nn.conv2d' op expected stride}}
  %0 = nn.conv2d %x, %w {stride = array<i64: 1, 1, 1>} : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x6x6xf32>
  nn.return %0 : tensor<?x4x6x6xf32>
}

// -----

// Padding of two numbers.
nn.block @b(%x: tensor<?x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<?x4x8x8xf32> {
  // expected-error @+1 {{'nn.conv2d' op expected padding}}
  %0 = nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<?x4x8x8xf32>
  nn.return %0 : tensor<?x4x8x8xf32>
}

// -----

// Groups that do not divide the channels.
nn.block @b(%x: tensor<?x3x8x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<?x4x6x6xf32> {
  // expected-error @+1 {{'nn.conv2d' op expected groups that divide the 3 channels of the input}}
  %0 = nn.conv2d %x, %w {groups = 2 : i64} : (tensor<?x3x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<?x4x6x6xf32>
  nn.return %0 : tensor<?x4x6x6xf32>
}

// -----

// Channels of the weight that do not fit the input.
nn.block @b(%x: tensor<?x3x8x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<?x4x6x6xf32> {
  // expected-error @+1 {{'nn.conv2d' op expected weight [out, c / groups, kh, kw] with c / groups = 3}}
  %0 = nn.conv2d %x, %w : (tensor<?x3x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<?x4x6x6xf32>
  nn.return %0 : tensor<?x4x6x6xf32>
}

// -----

// Kernel larger than the image.
nn.block @b(%x: tensor<?x3x4x4xf32>) -> tensor<?x3x1x1xf32> {
  // expected-error @+1 {{'nn.max_pool2d' op expected a window no larger than the padded input, found windows of 5 elements over 4 along the height}}
  %0 = nn.max_pool2d %x {kernel = array<i64: 5, 5>} : (tensor<?x3x4x4xf32>) -> tensor<?x3x1x1xf32>
  nn.return %0 : tensor<?x3x1x1xf32>
}

// -----

// Kernel of one number.
nn.block @b(%x: tensor<?x3x4x4xf32>) -> tensor<?x3x3x3xf32> {
  // expected-error @+1 {{'nn.max_pool2d' op expected kernel}}
  %0 = nn.max_pool2d %x {kernel = array<i64: 2>} : (tensor<?x3x4x4xf32>) -> tensor<?x3x3x3xf32>
  nn.return %0 : tensor<?x3x3x3xf32>
}

// -----

// Labels of floating-point type.
nn.model @m(%logits: tensor<?x10xf32>, %label: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.cross_entropy' op operand #1 must be}}
  %loss = nn.cross_entropy %logits, %label : (tensor<?x10xf32>, tensor<?xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Labels that are one-hot.
nn.model @m(%logits: tensor<?x10xf32>, %label: tensor<?x10xi32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.cross_entropy' op expected labels 'tensor<?xi32>', one per row of the logits 'tensor<?x10xf32>', found 'tensor<?x10xi32>'}}
  %loss = nn.cross_entropy %logits, %label : (tensor<?x10xf32>, tensor<?x10xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Token ids of floating-point type.
nn.block @b(%table: tensor<16x4xf32>, %ids: tensor<?x8xf32>) -> tensor<?x8x4xf32> {
  // expected-error @+1 {{'nn.embedding' op operand #1 must be}}
  %0 = nn.embedding %table, %ids : (tensor<16x4xf32>, tensor<?x8xf32>) -> tensor<?x8x4xf32>
  nn.return %0 : tensor<?x8x4xf32>
}

// -----

// Heads that differ.
nn.block @b(%q: tensor<?x8x4x16xf32>, %k: tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32> {
  // expected-error @+1 {{'nn.attention' op expected query, key and value with equally many heads (dimension 2)}}
  %0 = nn.attention %q, %k, %k : (tensor<?x8x4x16xf32>, tensor<?x8x2x16xf32>, tensor<?x8x2x16xf32>) -> tensor<?x8x4x16xf32>
  nn.return %0 : tensor<?x8x4x16xf32>
}

// -----

// Scale that does not fit the features.
nn.block @b(%x: tensor<?x8xf32>, %g: tensor<4xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'nn.layer_norm' op expected scale 'tensor<8xf32>' for the input 'tensor<?x8xf32>', found 'tensor<4xf32>'}}
  %0 = nn.layer_norm %x, %g : (tensor<?x8xf32>, tensor<4xf32>) -> tensor<?x8xf32>
  nn.return %0 : tensor<?x8xf32>
}

// -----

// Dropout of everything.
nn.block @b(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @+1 {{'nn.dropout' op expected a rate of 0 or more and less than 1, found}}
  %0 = nn.dropout %x {rate = 1.0 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  nn.return %0 : tensor<?x8xf32>
}

// -----

// Target of another shape.
nn.model @m(%x: tensor<?x8xf32>, %y: tensor<?xf32>) -> tensor<f32> {
  // expected-error @+1 {{'nn.mse' op expected prediction and target of one shape, found 'tensor<?x8xf32>' and 'tensor<?xf32>'}}
  %loss = nn.mse %x, %y : (tensor<?x8xf32>, tensor<?xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Numbers whose sums and products do not fit 64 bits.
nn.block @padding_too_large(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{'nn.pad' op pads dimension 1 by 9223372036854775807 and 9223372036854775807: expected 2^46 at most}}
  %0 = nn.pad %x {low = array<i64: 0, 9223372036854775807>, high = array<i64: 0, 9223372036854775807>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  nn.return %0 : tensor<?x4xf32>
}

// -----

nn.block @slice_too_large(%x: tensor<?x4xf32>) -> tensor<?x3xf32> {
  // expected-error @+1 {{'nn.slice' op takes 3 elements from 0 by stride 9223372036854775807 of dimension 1: expected to stay within its size 4}}
  %0 = nn.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 3>, strides = array<i64: 1, 9223372036854775807>} : (tensor<?x4xf32>) -> tensor<?x3xf32>
  nn.return %0 : tensor<?x3xf32>
}
