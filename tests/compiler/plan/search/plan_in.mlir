// A plan that was written is read again: the same layouts, and the report says how it is parallel.
// RUN: pdc %s --batch=8 --ranks=2 --optimizer=sgd --parallel=zero3 -o %t.a --plan-out=%t.plan
// RUN: pdc %s --batch=8 --optimizer=sgd --plan-in=%t.plan -o %t.b
// RUN: pdc plan %t.b | FileCheck %s
// RUN: pdc %s --batch=8 --ranks=2 --optimizer=sgd --parallel=data -o %t.a --plan-out=%t.data
// RUN: pdc %s --batch=8 --optimizer=sgd --plan-in=%t.data -o %t.b
// RUN: pdc plan %t.b | FileCheck %s --check-prefix=DATA
// RUN: not pdc %s --batch=16 --optimizer=sgd --plan-in=%t.plan -o %t.c 2>&1 | FileCheck %s --check-prefix=OTHER
// An argument whose layout was taken away is whole on every rank.
// RUN: sed '0,/dist.layout = #dist.layout<[^>]*>, /s///' %t.plan > %t.bare
// RUN: not pdc %s --batch=8 --optimizer=sgd --plan-in=%t.bare -o %t.c 2>&1 | FileCheck %s --check-prefix=BARE
// It is predicted for the cluster that it was made for, unless another one is given.
// RUN: pdc %s --batch=8 --ranks=2 --cluster=lassen --optimizer=sgd --parallel=zero3 -o %t.a --plan-out=%t.plan
// RUN: pdc %s --batch=8 --optimizer=sgd --plan-in=%t.plan -o %t.b
// RUN: pdc plan %t.b | FileCheck %s --check-prefix=CLUSTER
// RUN: pdc %s --batch=8 --optimizer=sgd --plan-in=%t.plan --cluster=dgx_h100 -o %t.b
// RUN: pdc plan %t.b | FileCheck %s --check-prefix=GIVEN
// RUN: pdc plan %t.plan | FileCheck %s --check-prefix=CLUSTER

// CLUSTER: Predicted step on machine 'lassen'
// GIVEN: Predicted step on machine 'dgx_h100'
// BARE: operand {{[0-9]+}} has layout #dist.layout<{{\[\[\], \[\]\]}}>, but this split needs
// CHECK: Model m: 2 ranks (data 2, tensor 1, pipeline 1, ZeRO 3)
// CHECK: Mesh data=2
// DATA: Model m: 2 ranks (data 2, tensor 1, pipeline 1, ZeRO 0)
// OTHER: is a plan for another model, batch, precision or optimizer: in step @train
// OTHER-NEXT: ...{{.*}}%x: tensor<16x64xf32>
// OTHER-NEXT: found
// OTHER-NEXT: ...{{.*}}%x: tensor<8x64xf32>
nn.model @m(%x: tensor<?x64xf32>) -> (loss: tensor<f32>) {
  %w = nn.param "w" init(kaiming) : tensor<64x32xf32>
  %y = nn.linear %x, %w : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  %loss = nn.reduce_mean %y {axes = array<i64: 0, 1>} : (tensor<?x32xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
