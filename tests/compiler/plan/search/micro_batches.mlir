// Ranks share the samples of a micro-batch, not those of the batch. A batch of 8 in 4 micro-batches gives 2 samples to split:
// four ranks share them otherwise.
// RUN: pdc %s --batch=8 --ranks=4 --optimizer=sgd --parallel=layouts --to=plan | FileCheck %s --check-prefix=WHOLE
// RUN: pdc %s --batch=8 --ranks=4 --optimizer=sgd --parallel=layouts --micro-batches=4 --plan-out=%t.plan -o %t
// RUN: FileCheck %s --input-file=%t.plan
// RUN: pdc %s --batch=8 --optimizer=sgd --plan-in=%t.plan -o %t
// In a list, the axis tensor splits no input; what ops make of it on the way is bounded likewise.
// RUN: pdc %s --batch=9 --ranks=12 --optimizer=sgd --parallel=data=3,tensor=2,pipeline=2 --micro-batches=3 -o %t
// Stages that are not alike have as many micro-batches as the pipeline.
// RUN: pdc %s --batch=8 --ranks=5 --optimizer=sgd --parallel=layouts,pipeline=4:1 --micro-batches=4 -o %t
// RUN: not pdc %s --batch=8 --ranks=12 --optimizer=sgd --parallel=data=3,tensor=2,pipeline=2 --micro-batches=3 -o %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=REPLICAS
// What a person has written into a plan is checked, too.
// RUN: sed 's/\[\[\], \["data"\], \[\]\]/[["data"], [], []]/g' %t.plan > %t.edited
// RUN: not pdc %s --batch=8 --optimizer=sgd --plan-in=%t.edited -o %t 2>&1 | FileCheck %s --check-prefix=EDITED

// WHOLE: dist.mesh @mesh axes(["data" = 4])
// WHOLE: nn.linear %x, %w1 {dist.layouts = [#dist.layout<{{\[\["data"\], \[\], \[\]\]}}>]}
// CHECK: dist.micro_batches = 4
// CHECK: dist.mesh @mesh axes(["data" = 4])
// CHECK: nn.linear %x, %w1 {dist.layouts = [#dist.layout<{{\[\[\], \["data"\], \[\]\]}}>]}
// CHECK-NOT: {{\[\["data"\], \[\], \[\]\]}}
// REPLICAS: error: 'nn.step' op has a batch of 8 in 3 micro-batches of input 'x', which data=3 splits: a micro-batch of 2 has
// REPLICAS-SAME: no sample for some ranks; use a larger batch, fewer micro-batches or fewer data-parallel ranks
// EDITED: error: 'nn.step' op has a batch of 8 in 4 micro-batches of input 'x', which the plan splits over 4 ranks: a
// EDITED-SAME: micro-batch of 2 has no sample for some
nn.model @m(%x: tensor<?x256x64xf32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "w1" init(kaiming) : tensor<64x64xf32>
  %w2 = nn.param "w2" init(kaiming) : tensor<64x64xf32>
  %h = nn.linear %x, %w1 : (tensor<?x256x64xf32>, tensor<64x64xf32>) -> tensor<?x256x64xf32>
  %a = nn.relu %h : tensor<?x256x64xf32>
  %y = nn.linear %a, %w2 : (tensor<?x256x64xf32>, tensor<64x64xf32>) -> tensor<?x256x64xf32>
  %s = nn.mul %y, %y : (tensor<?x256x64xf32>, tensor<?x256x64xf32>) -> tensor<?x256x64xf32>
  %loss = nn.reduce_mean %s {axes = array<i64: 0, 1, 2>} : (tensor<?x256x64xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
