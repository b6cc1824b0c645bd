// RUN: pdc-opt %s -lower -memory -verify-lowered="placed=true" | FileCheck %s

dist.mesh @mesh axes(["data" = 2])
// Of the outermost dimension: parts lie where they belong, each rank's at its own offset, and nothing is copied but the
// parameter, which does not lie in shared memory.
// CHECK-LABEL: rt.program @outermost
// CHECK: %[[W:.*]] = rt.buffer parameter private "w"
// CHECK: %[[G:.*]] = rt.buffer activation shared "all_gather"
// CHECK: %[[V:.*]] = rt.view %[[G]] {rank_offsets = array<i64: 0, 8>} : memref<16xf32> to memref<2x4xf32>
// CHECK: rt.copy "all_gather copy" %[[W]] to %[[V]]
// CHECK: rt.collective_start "all_gather" "all_gather" sum %[[G]] groups [array<i64: 0, 1>] {counts = array<i64: 8, 8>
// CHECK: rt.collective_done
nn.step "infer" @outermost(
    %w: tensor<2x4xf32> {nn.role = "parameter", nn.name = "w", dist.layout = #dist.layout<[["data"], []]>, dist.global = tensor<4x4xf32>})
    -> (tensor<4x4xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0, 1>} {
  %0 = dist.all_gather over @mesh ["data"] dim 0 (%w) : tensor<2x4xf32> to tensor<4x4xf32>
  nn.return %0 : tensor<4x4xf32>
}

// Of an inner dimension: one strided copy per part.
// CHECK-LABEL: rt.program @inner
// CHECK: rt.collective_start "all_gather"
// CHECK: rt.library "copy_view" "all_gather unpack"
// CHECK: rt.library "copy_view" "all_gather unpack"
nn.step "infer" @inner(
    %w: tensor<4x3xf32> {nn.role = "parameter", nn.name = "w", dist.layout = #dist.layout<[[], ["data"]]>, dist.global = tensor<4x5xf32>})
    -> (tensor<4x5xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0>} {
  %0 = dist.all_gather over @mesh ["data"] dim 1 (%w) {sizes = array<i64: 3, 2>} : tensor<4x3xf32> to tensor<4x5xf32>
  nn.return %0 : tensor<4x5xf32>
}

// The part that is complete after a reduce_scatter is used where it lies.
// CHECK-LABEL: rt.program @scattered
// CHECK: %[[S:.*]] = rt.buffer activation shared "reduce_scatter"
// CHECK: rt.collective_start "reduce_scatter" "reduce_scatter" sum %[[S]] groups [array<i64: 0, 1>] {counts = array<i64: 12, 8>
// CHECK: rt.collective_done
// CHECK: %[[P:.*]] = rt.view %[[S]] : memref<20xf32> to memref<2x4xf32, strided<[4, 1], offset: 12>>
// CHECK: rt.copy "y copy" %[[P]]
nn.step "infer" @scattered(%w: tensor<5x4xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<2x4xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[["data"], []]>, dist.global = tensor<5x4xf32>})
    attributes {dist.mesh = @mesh, dist.ranks = array<i64: 1>} {
  %0 = dist.reduce_scatter sum over @mesh ["data"] dim 0 (%w) {sizes = array<i64: 3, 2>} : tensor<5x4xf32> to tensor<2x4xf32>
  nn.return %0 : tensor<2x4xf32>
}

// From blocks by receiver to blocks by sender, padded to one size: rank 0 has 3 of 5 rows and keeps 2 of 4 columns.
// CHECK-LABEL: rt.program @exchanged
// CHECK: %[[SEND:.*]] = rt.buffer activation shared "all_to_all send" {{.*}} : memref<12xf32>
// CHECK: %[[RECEIVE:.*]] = rt.buffer activation shared "all_to_all" {{.*}} : memref<12xf32>
// CHECK: rt.fill "all_to_all fill" %[[SEND]]
// CHECK: rt.library "copy_view" "all_to_all pack"
// CHECK: rt.library "copy_view" "all_to_all pack"
// CHECK: rt.collective_start "all_to_all" "all_to_all" sum %[[RECEIVE]] from %[[SEND]] : memref<12xf32> groups [array<i64: 0, 1>]
// CHECK: rt.copy "all_to_all unpack"
// CHECK: rt.copy "all_to_all unpack"
nn.step "infer" @exchanged(
    %w: tensor<3x4xf32> {nn.role = "parameter", nn.name = "w", dist.layout = #dist.layout<[["data"], []]>, dist.global = tensor<5x4xf32>})
    -> (tensor<5x2xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], ["data"]]>, dist.global = tensor<5x4xf32>})
    attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0>} {
  %0 = dist.all_to_all over @mesh ["data"] split 1 concat 0 (%w) {split_sizes = array<i64: 2, 2>, concat_sizes = array<i64: 3, 2>} : tensor<3x4xf32> to tensor<5x2xf32>
  nn.return %0 : tensor<5x2xf32>
}

// A slice is a view that begins elsewhere on each rank.
// CHECK-LABEL: rt.program @sliced
// CHECK: rt.view %{{.*}} {rank_offsets = array<i64: 0, 2>} : memref<3x4xf32> to memref<3x2xf32, strided<[4, 1]>>
nn.step "infer" @sliced(%w: tensor<3x4xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<3x2xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], ["data"]]>, dist.global = tensor<3x4xf32>})
    attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0, 1>} {
  %0 = dist.slice over @mesh ["data"] dim 1 (%w) : tensor<3x4xf32> to tensor<3x2xf32>
  nn.return %0 : tensor<3x2xf32>
}
