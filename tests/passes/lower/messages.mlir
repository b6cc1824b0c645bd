// RUN: pdc-opt %s -lower -memory -verify-lowered="placed=true" | FileCheck %s

dist.mesh @mesh axes(["data" = 2])

// What is sent is computed where peers of the node can read it; what is received is for this rank alone.
// CHECK-LABEL: rt.program @computed
// CHECK-DAG: %[[X:.*]] = rt.buffer input private "x"
// CHECK-DAG: %[[Y:.*]] = rt.buffer activation shared "matmul"
// CHECK-DAG: %[[R:.*]] = rt.buffer activation private "receive"
// CHECK-DAG: rt.library "matmul" "matmul"
// CHECK-DAG: rt.send_start "send" %[[Y]]
// CHECK-DAG: rt.receive_start "receive" %[[R]]
nn.step "infer" @computed(%x: tensor<2x4xf32> {nn.role = "input", nn.name = "x"},
                          %w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<2x4xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0>} {
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  dist.send to [1] tag 0 (%0) : tensor<2x4xf32>
  %1 = dist.receive from [1] tag 0 : tensor<2x4xf32>
  nn.return %1 : tensor<2x4xf32>
}

// A parameter lies in private memory: a copy of it is sent.
// CHECK-LABEL: rt.program @parameter
// CHECK: %[[W:.*]] = rt.buffer parameter private "w"
// CHECK: %[[P:.*]] = rt.buffer activation shared "send"
// CHECK: rt.copy "send pack" %[[W]] to %[[P]]
// CHECK: rt.send_start "send" %[[P]]
nn.step "infer" @parameter(%w: tensor<4x4xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<4x4xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh, dist.ranks = array<i64: 0>} {
  dist.send to [1] tag 0 (%w) : tensor<4x4xf32>
  %0 = dist.receive from [1] tag 0 : tensor<4x4xf32>
  nn.return %0 : tensor<4x4xf32>
}
