// RUN: pdc-opt %s --autodiff=modes=gradient --verify-step --split-input-file | FileCheck %s
// RUN: pdc-opt %s --autodiff=modes=gradient --split-input-file --verify-diagnostics -o /dev/null

// A parameter that is used twice gets the sum of both gradients, added as soon as both exist.
// CHECK-LABEL: nn.step "gradient" @gradient(%table
// CHECK: %[[HEAD:.*]] = nn.linear_grad_weight {{.*}}transpose_weight
// CHECK: %[[ROWS:.*]] = nn.embedding_grad
// CHECK-NEXT: %[[SUM:.*]] = nn.add %[[HEAD]], %[[ROWS]]
// CHECK: nn.return %{{.*}}, %[[SUM]] : tensor<f32>, tensor<10x8xf32>
nn.model @tied(%ids: tensor<4xi32>, %label: tensor<4xi32>) -> tensor<f32> {
  %table = nn.param "table" init(normal(0.02)) : tensor<10x8xf32>
  %e = nn.embedding %table, %ids : (tensor<10x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %a = nn.tanh %e : tensor<4x8xf32>
  %logits = nn.linear %a, %table {transpose_weight} : (tensor<4x8xf32>, tensor<10x8xf32>) -> tensor<4x10xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<4x10xf32>, tensor<4xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A parameter without influence has a gradient of zeros, and a warning.
// CHECK-LABEL: nn.step "gradient" @gradient(%used
// CHECK: %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<3xf32>
// CHECK: nn.return %{{.*}}, %{{.*}}, %[[ZERO]]
nn.model @unused(%x: tensor<4x3xf32>) -> tensor<f32> {
  %used = nn.param "used" init(ones) : tensor<3xf32>
  // expected-warning @+1 {{parameter 'unused' does not influence the loss; its gradient is zero}}
  %unused = nn.param "unused" init(ones) : tensor<3xf32>
  %y = nn.mul %x, %used : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %z = nn.mul %x, %unused : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// The gradient of an input is not computed; gradients come in the reverse order of the forward pass.
// CHECK-LABEL: nn.step "gradient" @gradient(%first
// CHECK: nn.matmul %x, %first
// CHECK: nn.matmul %{{.*}}, %second
// CHECK: nn.matmul %{{.*}}, %{{.*}} {{{.*}}transpose_lhs{{.*}}} : (tensor<4x5xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
// CHECK: nn.matmul %x, %{{.*}} {{{.*}}transpose_lhs{{.*}}} : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
// CHECK-NOT: tensor<4x3xf32>
// CHECK: nn.return
nn.model @order(%x: tensor<4x3xf32>) -> tensor<f32> {
  %first = nn.param "first" init(kaiming) : tensor<3x5xf32>
  %second = nn.param "second" init(kaiming) : tensor<5x2xf32>
  %h = nn.matmul %x, %first : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %a = nn.relu %h : tensor<4x5xf32>
  %y = nn.matmul %a, %second : (tensor<4x5xf32>, tensor<5x2xf32>) -> tensor<4x2xf32>
  %s = nn.square %y : tensor<4x2xf32>
  %loss = nn.reduce_sum %s {axes = array<i64: 0, 1>} : (tensor<4x2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// Integers and truth values carry no gradient: the comparison is no obstacle.
// CHECK-LABEL: nn.step "gradient" @gradient(%w
// CHECK: nn.compare
// CHECK: nn.select
nn.model @truth(%x: tensor<4x3xf32>) -> tensor<f32> {
  %w = nn.param "w" init(ones) : tensor<4x3xf32>
  %c = nn.compare lt %w, %x : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %y = nn.select %c, %w, %x : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
