// What stays as it is.
// RUN: pdc-opt %s -separate-projections | FileCheck %s --implicit-check-not=declared_shape

// A weight that something else uses, too.
// CHECK-LABEL: nn.block @weight_used_twice
nn.block @weight_used_twice(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a, %b = nn.split %y {axis = 1 : i64, sizes = array<i64: 6, 6>} : (tensor<3x12xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>)
  %z = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  nn.return %a : tensor<3x6xf32>
}

// A bias that something else uses, too.
// CHECK-LABEL: nn.block @bias_used_twice
nn.block @bias_used_twice(%x: tensor<3x8xf32>) -> tensor<12xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %bias = nn.param "bias" init(zeros) : tensor<12xf32>
  %y = nn.linear %x, %w, %bias : (tensor<3x8xf32>, tensor<8x12xf32>, tensor<12xf32>) -> tensor<3x12xf32>
  %a, %b = nn.split %y {axis = 1 : i64, sizes = array<i64: 6, 6>} : (tensor<3x12xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>)
  nn.return %bias : tensor<12xf32>
}

// A weight that is computed.
// CHECK-LABEL: nn.block @computed_weight
nn.block @computed_weight(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %t = nn.tanh %w : tensor<8x12xf32>
  %y = nn.linear %x, %t : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a, %b = nn.split %y {axis = 1 : i64, sizes = array<i64: 6, 6>} : (tensor<3x12xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>)
  nn.return %a : tensor<3x6xf32>
}

// Parts that are unequal, as those of grouped queries.
// CHECK-LABEL: nn.block @unequal_split
nn.block @unequal_split(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %q, %k, %v = nn.split %y {axis = 1 : i64, sizes = array<i64: 8, 2, 2>} : (tensor<3x12xf32>) -> (tensor<3x8xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
  nn.return %q : tensor<3x8xf32>
}

// CHECK-LABEL: nn.block @unequal_slices
nn.block @unequal_slices(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 8>} : (tensor<3x12xf32>) -> tensor<3x8xf32>
  %b = nn.slice %y {offsets = array<i64: 0, 8>, sizes = array<i64: -1, 4>} : (tensor<3x12xf32>) -> tensor<3x4xf32>
  nn.return %a : tensor<3x8xf32>
}

// Parts that leave some columns out.
// CHECK-LABEL: nn.block @not_covered
nn.block @not_covered(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 4>} : (tensor<3x12xf32>) -> tensor<3x4xf32>
  %b = nn.slice %y {offsets = array<i64: 0, 8>, sizes = array<i64: -1, 4>} : (tensor<3x12xf32>) -> tensor<3x4xf32>
  nn.return %a : tensor<3x4xf32>
}

// Parts that overlap: as many, of one size, and not next to each other.
// CHECK-LABEL: nn.block @overlapping
nn.block @overlapping(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %b = nn.slice %y {offsets = array<i64: 0, 3>, sizes = array<i64: -1, 6>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  nn.return %a : tensor<3x6xf32>
}

// Every other column, and parts of the rows.
// CHECK-LABEL: nn.block @interleaved
nn.block @interleaved(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a = nn.slice %y {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 6>, strides = array<i64: 1, 2>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  %b = nn.slice %y {offsets = array<i64: 0, 1>, sizes = array<i64: -1, 6>, strides = array<i64: 1, 2>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
  nn.return %a : tensor<3x6xf32>
}

// CHECK-LABEL: nn.block @rows
nn.block @rows(%x: tensor<4x8xf32>) -> tensor<2x12xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
  %a, %b = nn.split %y {axis = 0 : i64, sizes = array<i64: 2, 2>} : (tensor<4x12xf32>) -> (tensor<2x12xf32>, tensor<2x12xf32>)
  nn.return %a : tensor<2x12xf32>
}

// A product that is also used whole, that is not cut, or whose one part is all of it.
// CHECK-LABEL: nn.block @whole_too
nn.block @whole_too(%x: tensor<3x8xf32>) -> tensor<3x12xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a, %b = nn.split %y {axis = 1 : i64, sizes = array<i64: 6, 6>} : (tensor<3x12xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>)
  nn.return %y : tensor<3x12xf32>
}

// CHECK-LABEL: nn.block @uncut
nn.block @uncut(%x: tensor<3x8xf32>) -> tensor<3x12xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  nn.return %y : tensor<3x12xf32>
}

// CHECK-LABEL: nn.block @one_part
nn.block @one_part(%x: tensor<3x8xf32>) -> tensor<3x12xf32> {
  // CHECK: nn.param "w" init(zeros) : tensor<8x12xf32>
  %w = nn.param "w" init(zeros) : tensor<8x12xf32>
  %y = nn.linear %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
  %a = nn.split %y {axis = 1 : i64, sizes = array<i64: 12>} : (tensor<3x12xf32>) -> tensor<3x12xf32>
  nn.return %a : tensor<3x12xf32>
}
