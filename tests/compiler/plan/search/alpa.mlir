// The published check of Alpa (Zheng et al. 2022; test_auto_sharding_mlp.py): a perceptron of six layers on four devices in a
// row is split by columns and rows in turns, which takes (layers - 1) all_reduces of the activations,
//     5 (1 + 2 * 3/4 * 32 * 256 * 4 + 0.01) = 245,765.05.
// RUN: pdc %s --batch=32 --ranks=4 --optimizer=sgd --parallel=tensor --cost-model=alpa:alpha=1,beta=1 -o %t
// RUN: pdc plan %t --format=remarks | FileCheck %s
// RUN: pdc plan %t --format=json | FileCheck %s --check-prefix=JSON

// CHECK: remark: search: exact, cost 245765.05 s, lower bound 245765.05 s, gap 0 %
// Three forward, two backward.
// CHECK: remark: all_reduce over tensor: linear gives [-, -] partial over tensor; {{.*}}; 32.00 KiB, 49153.01 s
// CHECK-COUNT-4: remark: all_reduce over tensor: {{.*}}; 32.00 KiB, 49153.01 s
// CHECK-NOT: remark: {{all_reduce|all_gather|reduce_scatter|all_to_all}}
// JSON: "cost": 245765.0{{[45]}}
nn.model @mlp(%x: tensor<?x256xf32>, %target: tensor<?x256xf32>) -> (loss: tensor<f32>) {
  %w1 = nn.param "fc1" init(kaiming) : tensor<256x256xf32>
  %w2 = nn.param "fc2" init(kaiming) : tensor<256x256xf32>
  %w3 = nn.param "fc3" init(kaiming) : tensor<256x256xf32>
  %w4 = nn.param "fc4" init(kaiming) : tensor<256x256xf32>
  %w5 = nn.param "fc5" init(kaiming) : tensor<256x256xf32>
  %w6 = nn.param "fc6" init(kaiming) : tensor<256x256xf32>
  %h1 = nn.linear %x, %w1 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %a1 = nn.relu %h1 : tensor<?x256xf32>
  %h2 = nn.linear %a1, %w2 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %a2 = nn.relu %h2 : tensor<?x256xf32>
  %h3 = nn.linear %a2, %w3 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %a3 = nn.relu %h3 : tensor<?x256xf32>
  %h4 = nn.linear %a3, %w4 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %a4 = nn.relu %h4 : tensor<?x256xf32>
  %h5 = nn.linear %a4, %w5 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %a5 = nn.relu %h5 : tensor<?x256xf32>
  %h6 = nn.linear %a5, %w6 : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  %loss = nn.mse %h6, %target : (tensor<?x256xf32>, tensor<?x256xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
