// The report of a searched plan is JSON, also where more plans were considered than a number can say.
// RUN: pdc %s --batch=8 --ranks=2 --parallel=layouts -o %t --report=%t.json
// RUN: pdc plan %t | FileCheck %s
// RUN: pdc plan %t --format=json | FileCheck %s --check-prefix=JSON
// RUN: pdc %s --batch=8 --ranks=2 --parallel=layouts --search=mcmc:proposals=1,seed=1 -o %t.mcmc
// RUN: pdc plan %t.mcmc | FileCheck %s --check-prefix=GAP
// RUN: pdc plan %t.mcmc --format=remarks | FileCheck %s --check-prefix=REMARK
// RUN: pdc plan %t.mcmc --format=html | FileCheck %s --check-prefix=HTML
// RUN: pdc %s --batch=8 --mode=infer -o %t.infer
// RUN: pdc plan %t.infer | FileCheck %s --check-prefix=INFER
// Chunks of a stage that do not follow each other are told apart.
// RUN: pdc %s --batch=8 --ranks=2 --parallel=interleaved --micro-batches=2 -o %t.chunks
// RUN: pdc plan %t.chunks | FileCheck %s --check-prefix=CHUNKS
// Of stages that are not alike, cost and bound are of the same mesh.
// RUN: pdc %s --batch=8 --ranks=3 --parallel=layouts,pipeline=1:2 --micro-batches=2 -o %t.unlike
// RUN: pdc plan %t.unlike | FileCheck %s --check-prefix=UNLIKE

// UNLIKE: Search: exact, {{.*}}, cost [[COST:[^,]+]], lower bound [[COST]] (gap 0 %)
// CHUNKS: stage 0: rank 0, {{.*}} layers w0 to h{{[0-9]+}}, h{{[0-9]+}} to h{{[0-9]+$}}
// CHUNKS: stage 1: rank 1, {{.*}} layers h{{[0-9]+}} to h{{[0-9]+}}, h{{[0-9]+}} to h39{{$}}
// CHUNKS: Collectives and messages of rank 0 in a step, in order
// CHUNKS-NEXT: {{[0-9]+}} times
// CHUNKS: h*.w (40)
// CHECK: Mesh data=2
// CHECK: Search: exact, {{.*}} plans, cost {{.*}} (gap 0 %)
// A method's name is no proof where its plan costs more than the bound.
// GAP: Search: mcmc:proposals=1,seed=1 (not proved best), {{.*}} (gap
// REMARK: remark: search: mcmc:proposals=1,seed=1 (not proved best), cost
// HTML: mcmc:proposals=1,seed=1 (not proved best): cost
// CHECK: Decisions
// CHECK: layout of parameter w0: {{.*}}
// INFER: batch 8, f32, inference, 1 thread(s)
// JSON: "plans_considered": {{[0-9]}}
nn.block @layer(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = nn.param "w" init(kaiming) : tensor<64x64xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %z = nn.tanh %y : tensor<?x64xf32>
  nn.return %z : tensor<?x64xf32>
}
nn.model @deep(%x: tensor<?x64xf32>) -> (loss: tensor<f32>) {
  %w0 = nn.param "w0" init(kaiming) : tensor<64x64xf32>
  %h = nn.linear %x, %w0 : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %y = nn.repeat 40 @layer "h" (%h) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %loss = nn.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<?x64xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
