// Masks of parts that differ in where they begin are one kernel, called with other constants.
// RUN: pdc-opt %s --fuse --lower | FileCheck %s

// CHECK-DAG: %[[S0:.*]] = rt.buffer constant private {{.*}}value = dense<0> : tensor<i64>
// CHECK-DAG: %[[S8:.*]] = rt.buffer constant private {{.*}}value = dense<8> : tensor<i64>
// CHECK: rt.kernel @[[K:.*]] "{{.*}}" reads({{.*}}%[[S0]]{{.*}})
// CHECK: rt.library "matmul"
// CHECK: rt.kernel @[[K]] "{{.*}}" reads({{.*}}%[[S8]]{{.*}})
// CHECK: rt.define @[[K]]
// CHECK-NOT: rt.define
nn.step "infer" @masks(%x: tensor<8x8xf32> {nn.role = "input"}, %seed: tensor<i64> {nn.role = "seed"})
    -> (y: tensor<8x8xf32> {nn.role = "output"}) attributes {dist.ranks = array<i64: 0>} {
  %s0 = nn.constant dense<0> : tensor<i64>
  %s8 = nn.constant dense<8> : tensor<i64>
  %m0 = nn.dropout_mask %seed, %s0 {rate = 0.1 : f64, stream = 0 : i64, global_shape = array<i64: 16, 8>,
                                    start_dimensions = array<i64: 0>} : (tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
  %0 = nn.mul %x, %m0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = nn.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %m8 = nn.dropout_mask %seed, %s8 {rate = 0.1 : f64, stream = 0 : i64, global_shape = array<i64: 16, 8>,
                                    start_dimensions = array<i64: 0>} : (tensor<i64>, tensor<i64>) -> tensor<8x8xf32>
  %2 = nn.mul %1, %m8 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.return %2 : tensor<8x8xf32>
}
