// Folding and canonicalization.
// RUN: pdc-opt --canonicalize %s | FileCheck %s

// CHECK-LABEL: nn.block @neutral_elements_vanish
nn.block @neutral_elements_vanish(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<4xf32>
  %0 = nn.add %zero, %x : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.sub %0, %zero : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = nn.mul %one, %1 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = nn.div %2, %one : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT: nn.return %x
  nn.return %3 : tensor<2x4xf32>
}

// The neutral element may also be what stretches the other operand.
// CHECK-LABEL: nn.block @a_stretching_zero_stays
nn.block @a_stretching_zero_stays(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %zero = nn.constant dense<0.0> : tensor<2x1xf32>
  // CHECK: nn.add
  %0 = nn.add %x, %zero : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  nn.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: nn.block @zero_absorbs_integers_only
nn.block @zero_absorbs_integers_only(%x: tensor<4xf32>, %n: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  // CHECK-DAG: %[[INT:.*]] = nn.constant dense<0> : tensor<4xi32>
  // CHECK-DAG: %[[MUL:.*]] = nn.mul %x
  %zero = nn.constant dense<0.0> : tensor<f32>
  %none = nn.constant dense<0> : tensor<i32>
  %0 = nn.mul %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.mul %n, %none : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  // CHECK: nn.return %[[MUL]], %[[INT]]
  nn.return %0, %1 : tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: nn.block @constants_are_computed
nn.block @constants_are_computed() -> tensor<2x4xf32> {
  // CHECK-NEXT: %[[C:.*]] = nn.constant dense<3.500000e+00> : tensor<2x4xf32>
  // CHECK-NEXT: nn.return %[[C]]
  %a = nn.constant dense<2.0> : tensor<4xf32>
  %b = nn.constant dense<1.5> : tensor<2x1xf32>
  %0 = nn.add %a, %b : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  nn.return %0 : tensor<2x4xf32>
}

// CHECK-LABEL: nn.block @widening_casts_merge
nn.block @widening_casts_merge(%x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf64>) {
  // CHECK-NEXT: %[[WIDE:.*]] = nn.cast %x : tensor<4xbf16> to tensor<4xf64>
  // CHECK-NEXT: nn.return %x, %[[WIDE]]
  %0 = nn.cast %x : tensor<4xbf16> to tensor<4xf32>
  %1 = nn.cast %0 : tensor<4xf32> to tensor<4xbf16>
  %2 = nn.cast %0 : tensor<4xf32> to tensor<4xf64>
  nn.return %1, %2 : tensor<4xbf16>, tensor<4xf64>
}

// CHECK-LABEL: nn.block @narrowing_casts_round
nn.block @narrowing_casts_round(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-COUNT-2: nn.cast
  %0 = nn.cast %x : tensor<4xf32> to tensor<4xbf16>
  %1 = nn.cast %0 : tensor<4xbf16> to tensor<4xf32>
  nn.return %1 : tensor<4xf32>
}

// CHECK-LABEL: nn.block @shape_ops_merge
nn.block @shape_ops_merge(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>) {
  // CHECK-NEXT: %[[T:.*]] = nn.transpose %x {permutation = array<i64: 2, 0, 1>}
  // CHECK-NEXT: nn.return %x, %x, %[[T]]
  %0 = nn.reshape %x : tensor<2x3x4xf32> to tensor<6x4xf32>
  %1 = nn.reshape %0 : tensor<6x4xf32> to tensor<2x3x4xf32>
  %2 = nn.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %3 = nn.transpose %2 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  %4 = nn.transpose %2 {permutation = array<i64: 1, 2, 0>} : (tensor<3x4x2xf32>) -> tensor<4x2x3xf32>
  nn.return %1, %3, %4 : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x2x3xf32>
}

// CHECK-LABEL: nn.block @whole_parts_vanish
nn.block @whole_parts_vanish(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> (tensor<2x3xf32>, tensor<1x3xf32>) {
  // CHECK-NEXT: nn.return %x, %y
  %0 = nn.slice %x {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = nn.pad %0 {low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = nn.concat %1 {axis = 0 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %3 = nn.broadcast %2 : tensor<2x3xf32> to tensor<2x3xf32>
  %4 = nn.reduce_sum %y {axes = array<i64: 0>, keep_dims} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %5 = nn.reduce_max %4 {axes = array<i64: 0>, keep_dims} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  nn.return %3, %5 : tensor<2x3xf32>, tensor<1x3xf32>
}

// CHECK-LABEL: nn.block @splats_change_shape
nn.block @splats_change_shape() -> tensor<3x2xf32> {
  // CHECK-NEXT: %[[C:.*]] = nn.constant dense<2.000000e+00> : tensor<3x2xf32>
  // CHECK-NEXT: nn.return %[[C]]
  %0 = nn.constant dense<2.0> : tensor<f32>
  %1 = nn.broadcast %0 : tensor<f32> to tensor<4x3xf32>
  %2 = nn.reshape %1 : tensor<4x3xf32> to tensor<2x6xf32>
  %3 = nn.slice %2 {offsets = array<i64: 0, 1>, sizes = array<i64: -1, 3>} : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %4 = nn.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  nn.return %4 : tensor<3x2xf32>
}
