// RUN: pdc-opt %s | pdc-opt | FileCheck %s

// CHECK: rt.program @train "train" ranks [0, 1] batch 4 local 2 starts [0, 2] {
rt.program @train "train" ranks [0, 1] batch 4 local 2 starts [0, 2] {
  // CHECK: rt.buffer input private "x" {global_shape = array<i64: 4, 8>, starts = array<i64: 0, 0, 2, 0>} : memref<2x8xf32>
  %x = rt.buffer input private "x" {global_shape = array<i64: 4, 8>, starts = array<i64: 0, 0, 2, 0>} : memref<2x8xf32>
  // CHECK: rt.buffer parameter private "w" {declared_shape = array<i64: 4, 6>, global_shape = array<i64: 4, 3, 2>, starts = array<i64: 0, 0, 0, 0, 0, 1>} : memref<4x3x1xf32>
  %w = rt.buffer parameter private "w" {declared_shape = array<i64: 4, 6>, global_shape = array<i64: 4, 3, 2>, starts = array<i64: 0, 0, 0, 0, 0, 1>} : memref<4x3x1xf32>
  %g = rt.buffer gradient shared "bucket 0" : memref<16xf32>
  // CHECK: rt.view %{{.*}} : memref<16xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>
  %v = rt.view %g : memref<16xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>
  // CHECK: rt.fill "clear" %{{.*}} : memref<16xf32>
  rt.fill "clear" %g : memref<16xf32>
  // CHECK: rt.copy "x copy" %{{.*}} to %{{.*}} : memref<2x8xf32> to memref<16xf32>
  rt.copy "x copy" %x to %g : memref<2x8xf32> to memref<16xf32>
  // CHECK: rt.library "relu" "h relu" reads(%{{.*}} : memref<2x8xf32>) writes(%{{.*}} : memref<2x4xf32, strided<[4, 1], offset: 8>>) integers {axis = array<i64: 1>} floats {}
  rt.library "relu" "h relu" reads(%x : memref<2x8xf32>) writes(%v : memref<2x4xf32, strided<[4, 1], offset: 8>>) integers {axis = array<i64: 1>} floats {}
  // CHECK: rt.collective_start "all_reduce" "bucket 0" sum %{{.*}} groups [array<i64: 0, 1>] : memref<16xf32>
  %t = rt.collective_start "all_reduce" "bucket 0" sum %g groups [array<i64: 0, 1>] : memref<16xf32>
  // CHECK: rt.collective_done
  rt.collective_done %t
  // CHECK: rt.receive_start "halo" %{{.*}} peers [1, 0] : memref<2x8xf32>
  %r = rt.receive_start "halo" %x peers [1, 0] : memref<2x8xf32>
  // CHECK: rt.send_start "halo" %{{.*}} peers [1, 0] {tag = 3 : i64} : memref<16xf32>
  %s = rt.send_start "halo" %g peers [1, 0] {tag = 3 : i64} : memref<16xf32>
  rt.collective_done %r
  rt.collective_done %s
}
