// Each mistake gets one error that says what was expected and what was found.
// RUN: pdc-opt %s --split-input-file --verify-diagnostics

func.func @linear_input_of_rank_one(%x: tensor<8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.linear' op expected input [..., in] of rank 2 or more, found 'tensor<8xf32>'}}
  %0 = nn.linear %x, %w : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @linear_inner_dimensions_differ(%x: tensor<?x8xf32>, %w: tensor<9x4xf32>) {
  // expected-error @+1 {{'nn.linear' op expected weight [in, out] with in = 8, the last dimension of the input 'tensor<?x8xf32>', found 'tensor<9x4xf32>'}}
  %0 = nn.linear %x, %w : (tensor<?x8xf32>, tensor<9x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_weight_stored_transposed(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // expected-error @+1 {{found 'tensor<4x8xf32>'; is `transpose_weight` missing?}}
  %0 = nn.linear %x, %w : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_weight_not_stored_transposed(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{found 'tensor<8x4xf32>'; is `transpose_weight` wrong here?}}
  %0 = nn.linear %x, %w {transpose_weight} : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_weight_of_rank_one(%x: tensor<?x8xf32>, %w: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear' op expected weight [in, out] of rank 2 or more, found 'tensor<8xf32>'}}
  %0 = nn.linear %x, %w : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @linear_weight_of_rank_three_with_one_dimension_too_many(%x: tensor<?x8xf32>, %w: tensor<1x8x4xf32>) {
  // expected-error @+1 {{'nn.linear' op expected weight [in, out] with in = 8, the last dimension of the input 'tensor<?x8xf32>', found 'tensor<1x8x4xf32>'}}
  %0 = nn.linear %x, %w : (tensor<?x8xf32>, tensor<1x8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_without_inner_dimensions(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.linear' op has `inner_dims` 0: expected at least 1}}
  %0 = nn.linear %x, %w {inner_dims = 0 : i64} : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_without_rows(%x: tensor<3x4xf32>, %w: tensor<3x4x8xf32>) {
  // expected-error @+1 {{'nn.linear' op expected input [..., in...] of rank 3 or more, found 'tensor<3x4xf32>'}}
  %0 = nn.linear %x, %w {inner_dims = 2 : i64} : (tensor<3x4xf32>, tensor<3x4x8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @linear_weight_of_inner_dimensions_only(%x: tensor<?x3x4xf32>, %w: tensor<3x4xf32>) {
  // expected-error @+1 {{'nn.linear' op expected weight [in, out] of rank 3 or more, found 'tensor<3x4xf32>'}}
  %0 = nn.linear %x, %w {inner_dims = 2 : i64} : (tensor<?x3x4xf32>, tensor<3x4xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @linear_one_of_several_inner_dimensions_differs(%x: tensor<?x3x4xf32>, %w: tensor<3x5x8xf32>) {
  // expected-error @+1 {{'nn.linear' op expected weight [in, out] with in = [3x4], the last dimensions of the input 'tensor<?x3x4xf32>', found 'tensor<3x5x8xf32>'}}
  %0 = nn.linear %x, %w {inner_dims = 2 : i64} : (tensor<?x3x4xf32>, tensor<3x5x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @linear_flat_bias_of_several_outer_dimensions(%x: tensor<?x8xf32>, %w: tensor<8x3x4xf32>, %b: tensor<12xf32>) {
  // expected-error @+1 {{'nn.linear' op expected bias 'tensor<3x4xf32>' for the weight 'tensor<8x3x4xf32>', found 'tensor<12xf32>'}}
  %0 = nn.linear %x, %w, %b : (tensor<?x8xf32>, tensor<8x3x4xf32>, tensor<12xf32>) -> tensor<?x3x4xf32>
  return
}

// -----

func.func @linear_bias_of_wrong_length(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{'nn.linear' op expected bias 'tensor<4xf32>' for the weight 'tensor<8x4xf32>', found 'tensor<8xf32>'}}
  %0 = nn.linear %x, %w, %b : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_element_types_differ(%x: tensor<?x8xbf16>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.linear' op expected input and weight of one element type, found 'tensor<?x8xbf16>' and 'tensor<8x4xf32>'; convert one with `nn.cast`}}
  %0 = nn.linear %x, %w : (tensor<?x8xbf16>, tensor<8x4xf32>) -> tensor<?x4xbf16>
  return
}

// -----

func.func @linear_dynamic_sequence(%x: tensor<2x?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{only dimension 0, the batch, may be `?`), found input 'tensor<2x?x8xf32>' with `?` at dimension 1}}
  %0 = nn.linear %x, %w : (tensor<2x?x8xf32>, tensor<8x4xf32>) -> tensor<2x?x4xf32>
  return
}

// -----

func.func @linear_wrong_result(%x: tensor<?x8xf32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.linear' op expected type 'tensor<?x4xf32>' for result #0, found 'tensor<?x8xf32>'}}
  %0 = nn.linear %x, %w : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @linear_integer_input(%x: tensor<?x8xi32>, %w: tensor<8x4xf32>) {
  // expected-error @+1 {{'nn.linear' op operand #0 must be ranked tensor of 32-bit float or 64-bit float or bfloat16 type or 16-bit float values, but got 'tensor<?x8xi32>'}}
  %0 = nn.linear %x, %w : (tensor<?x8xi32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @linear_grad_weight_rows_differ(%x: tensor<6x8xf32>, %dy: tensor<5x4xf32>) {
  // expected-error @+1 {{'nn.linear_grad_weight' op expected input and grad with equal leading dimensions, found 'tensor<6x8xf32>' and 'tensor<5x4xf32>'}}
  %0 = nn.linear_grad_weight %x, %dy : (tensor<6x8xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @linear_grad_weight_without_outer_dimensions(%x: tensor<6x8xf32>, %dy: tensor<6xf32>) {
  // expected-error @+1 {{'nn.linear_grad_weight' op expected grad [..., out] of rank 2 or more, found 'tensor<6xf32>'}}
  %0 = nn.linear_grad_weight %x, %dy : (tensor<6x8xf32>, tensor<6xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @linear_grad_weight_without_inner_dimensions(%x: tensor<6x8xf32>, %dy: tensor<6x4xf32>) {
  // expected-error @+1 {{'nn.linear_grad_weight' op has `inner_dims` -1: expected at least 1}}
  %0 = nn.linear_grad_weight %x, %dy {inner_dims = -1 : i64} : (tensor<6x8xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @matmul_of_rank_three(%a: tensor<2x3x4xf32>, %b: tensor<4x5xf32>) {
  // expected-error @+1 {{'nn.matmul' op expected lhs [m, k] of rank 2, found 'tensor<2x3x4xf32>'}}
  %0 = nn.matmul %a, %b : (tensor<2x3x4xf32>, tensor<4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @matmul_inner_dimensions_differ(%a: tensor<3x4xf32>, %b: tensor<3x5xf32>) {
  // expected-error @+1 {{'nn.matmul' op expected equal inner dimensions k of lhs [..., m, k] and rhs [..., k, n], found 'tensor<3x4xf32>' and 'tensor<3x5xf32>'}}
  %0 = nn.matmul %a, %b : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @batch_matmul_batches_differ(%a: tensor<2x3x4xf32>, %b: tensor<3x4x5xf32>) {
  // expected-error @+1 {{'nn.batch_matmul' op expected lhs and rhs with equal batch dimensions, found 'tensor<2x3x4xf32>' and 'tensor<3x4x5xf32>'}}
  %0 = nn.batch_matmul %a, %b : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @conv2d_input_of_rank_three(%x: tensor<3x9x9xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{'nn.conv2d' op expected input [n, c, h, w] of rank 4, found 'tensor<3x9x9xf32>'}}
  %0 = nn.conv2d %x, %w : (tensor<3x9x9xf32>, tensor<6x3x3x3xf32>) -> tensor<6x7x7xf32>
  return
}

// -----

func.func @conv2d_channels_differ(%x: tensor<?x3x9x9xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+1 {{'nn.conv2d' op expected weight [out, c / groups, kh, kw] with c / groups = 3 for the input 'tensor<?x3x9x9xf32>' and groups = 1, found 'tensor<6x4x3x3xf32>'}}
  %0 = nn.conv2d %x, %w : (tensor<?x3x9x9xf32>, tensor<6x4x3x3xf32>) -> tensor<?x6x7x7xf32>
  return
}

// -----

func.func @conv2d_groups_do_not_divide(%x: tensor<?x3x9x9xf32>, %w: tensor<6x1x3x3xf32>) {
  // expected-error @+1 {{'nn.conv2d' op expected groups that divide the 3 channels of the input 'tensor<?x3x9x9xf32>' and the 6 of the weight 'tensor<6x1x3x3xf32>', found groups = 2}}
  %0 = nn.conv2d %x, %w {groups = 2 : i64} : (tensor<?x3x9x9xf32>, tensor<6x1x3x3xf32>) -> tensor<?x6x7x7xf32>
  return
}

// -----

func.func @conv2d_padding_of_two_numbers(%x: tensor<?x3x9x9xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{'nn.conv2d' op expected padding [top, left, bottom, right]: 4 integers, none below 0, found [1, 1]}}
  %0 = nn.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x3x9x9xf32>, tensor<6x3x3x3xf32>) -> tensor<?x6x9x9xf32>
  return
}

// -----

func.func @conv2d_stride_of_zero(%x: tensor<?x3x9x9xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{'nn.conv2d' op expected stride [h, w]: 2 integers, none below 1, found [1, 0]}}
  %0 = nn.conv2d %x, %w {stride = array<i64: 1, 0>} : (tensor<?x3x9x9xf32>, tensor<6x3x3x3xf32>) -> tensor<?x6x7x7xf32>
  return
}

// -----

func.func @conv2d_kernel_larger_than_input(%x: tensor<?x3x4x9xf32>, %w: tensor<6x3x5x5xf32>) {
  // expected-error @+1 {{'nn.conv2d' op expected a window no larger than the padded input, found windows of 5 elements over 4 along the height of 'tensor<?x3x4x9xf32>'}}
  %0 = nn.conv2d %x, %w : (tensor<?x3x4x9xf32>, tensor<6x3x5x5xf32>) -> tensor<?x6x1x5xf32>
  return
}

// -----

func.func @conv2d_grad_of_another_size(%dy: tensor<2x6x8x8xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+1 {{'nn.conv2d_grad_input' op expected grad 'tensor<2x6x7x7xf32>', the result of conv2d of 'tensor<2x3x9x9xf32>' with 'tensor<6x3x3x3xf32>', found 'tensor<2x6x8x8xf32>'}}
  %0 = nn.conv2d_grad_input %dy, %w : (tensor<2x6x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<2x3x9x9xf32>
  return
}

// -----

func.func @pool_padding_as_large_as_kernel(%x: tensor<?x3x8x8xf32>) {
  // expected-error @+1 {{'nn.max_pool2d' op expected padding smaller than the kernel, found padding 2 for a kernel of 2 along the height}}
  %0 = nn.max_pool2d %x {kernel = array<i64: 2, 2>, padding = array<i64: 2, 0, 0, 0>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x9x7xf32>
  return
}

// -----

func.func @pool_kernel_of_one_number(%x: tensor<?x3x8x8xf32>) {
  // expected-error @+1 {{'nn.avg_pool2d' op expected kernel [h, w]: 2 integers, none below 1, found [2]}}
  %0 = nn.avg_pool2d %x {kernel = array<i64: 2>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x7x7xf32>
  return
}

// -----

func.func @embedding_table_of_rank_three(%t: tensor<1x100x8xf32>, %ids: tensor<?xi32>) {
  // expected-error @+1 {{'nn.embedding' op expected table [v, d] of rank 2, found 'tensor<1x100x8xf32>'}}
  %0 = nn.embedding %t, %ids : (tensor<1x100x8xf32>, tensor<?xi32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_ids_of_floats(%t: tensor<100x8xf32>, %ids: tensor<?xf32>) {
  // expected-error @+1 {{'nn.embedding' op operand #1 must be ranked tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<?xf32>'}}
  %0 = nn.embedding %t, %ids : (tensor<100x8xf32>, tensor<?xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @embedding_grad_of_other_ids(%dy: tensor<6x8xf32>, %ids: tensor<5xi32>) {
  // expected-error @+1 {{'nn.embedding_grad' op expected grad [..., d] with the leading dimensions of the ids 'tensor<5xi32>', found 'tensor<6x8xf32>'}}
  %0 = nn.embedding_grad %dy, %ids : (tensor<6x8xf32>, tensor<5xi32>) -> tensor<100x8xf32>
  return
}
