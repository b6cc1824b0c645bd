// RUN: pdc-opt %s --fuse --split-input-file | FileCheck %s

// A chain of elementwise ops is one kernel: nothing between is stored.
// CHECK-LABEL: nn.step "infer" @chain
// CHECK: nn.fusion
// CHECK: nn.mul
// CHECK: nn.add
// CHECK: nn.relu
// CHECK: nn.yield
// CHECK-NOT: nn.fusion
nn.step "infer" @chain(%x: tensor<4x8xf32> {nn.role = "input"}, %scale: tensor<8xf32> {nn.role = "parameter"})
    -> (y: tensor<4x8xf32> {nn.role = "output"}) {
  %0 = nn.mul %x, %scale : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nn.relu %1 : tensor<4x8xf32>
  nn.return %2 : tensor<4x8xf32>
}

// -----

// A softmax with what comes before and after it is one kernel over rows.
// CHECK-LABEL: nn.step "infer" @rows
// CHECK: nn.fusion
// CHECK-SAME: softmax
// CHECK: nn.reduce_max
// CHECK: nn.exp
// CHECK: nn.reduce_sum
// CHECK-NOT: nn.fusion
nn.step "infer" @rows(%x: tensor<4x8xf32> {nn.role = "input"}) -> (y: tensor<4x8xf32> {nn.role = "output"}) {
  %0 = nn.square %x : tensor<4x8xf32>
  %1 = nn.softmax %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nn.add %1, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  nn.return %2 : tensor<4x8xf32>
}

// -----

// Reductions over rows and over columns are two kernels. The normalized input is computed again in the second from the
// statistics of the first.
// CHECK-LABEL: nn.step "gradient" @layer_norm_gradient
// CHECK: %[[ROWS:.*]]:3 = nn.fusion
// CHECK-SAME: -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x128xf32>)
// CHECK-NOT: axes = array<i64: 0>
// CHECK: nn.fusion
// CHECK-SAME: -> (tensor<128xf32>, tensor<128xf32>)
// CHECK: axes = array<i64: 0>
// CHECK-NOT: nn.fusion
nn.step "gradient" @layer_norm_gradient(%g: tensor<64x128xf32> {nn.role = "input"},
                                        %x: tensor<64x128xf32> {nn.role = "input"},
                                        %scale: tensor<128xf32> {nn.role = "parameter"})
    -> (dx: tensor<64x128xf32> {nn.role = "output"}, ds: tensor<128xf32> {nn.role = "gradient"},
        db: tensor<128xf32> {nn.role = "gradient"}) {
  %0:3 = nn.layer_norm_grad %g, %x, %scale {epsilon = 1.0e-5 : f64}
      : (tensor<64x128xf32>, tensor<64x128xf32>, tensor<128xf32>) -> (tensor<64x128xf32>, tensor<128xf32>, tensor<128xf32>)
  nn.return %0#0, %0#1, %0#2 : tensor<64x128xf32>, tensor<128xf32>, tensor<128xf32>
}

// -----

// What a library call needs is not delayed by what comes after it: %1 waits for the matmul, %0 does not.
// CHECK-LABEL: nn.step "infer" @not_delayed
// CHECK: %[[A:.*]] = nn.fusion
// CHECK: nn.relu
// CHECK: %[[B:.*]] = nn.matmul %[[A]]
// CHECK: nn.fusion
// CHECK: nn.add
nn.step "infer" @not_delayed(%x: tensor<8x8xf32> {nn.role = "input"}) -> (y: tensor<8x8xf32> {nn.role = "output"}) {
  %0 = nn.relu %x : tensor<8x8xf32>
  %1 = nn.matmul %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.return %2 : tensor<8x8xf32>
}

// -----

// A mask of scalars is computed in each kernel that uses it, and never stored.
// CHECK-LABEL: nn.step "infer" @masks
// CHECK: nn.fusion
// CHECK-SAME: -> tensor<8x8xf32>
// CHECK: nn.dropout_mask
// CHECK: nn.matmul
// CHECK: nn.fusion
// CHECK-SAME: -> tensor<8x8xf32>
// CHECK: nn.dropout_mask
nn.step "infer" @masks(%x: tensor<8x8xf32> {nn.role = "input"}, %seed: tensor<i64> {nn.role = "seed"})
    -> (y: tensor<8x8xf32> {nn.role = "output"}) {
  %mask = nn.dropout_mask %seed {rate = 0.1 : f64, stream = 0 : i64, global_shape = array<i64: 8, 8>,
                                 start_dimensions = array<i64>} : (tensor<i64>) -> tensor<8x8xf32>
  %0 = nn.mul %x, %mask : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = nn.matmul %0, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.mul %1, %mask : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.return %2 : tensor<8x8xf32>
}

// -----

// Reshapes that library calls need stay outside and cost nothing; those between elementwise ops go inside.
// CHECK-LABEL: nn.step "infer" @reshapes
// CHECK: nn.fusion
// CHECK: nn.square
// CHECK: nn.reshape
// CHECK: nn.relu
// CHECK: nn.yield
// CHECK: nn.reshape
// CHECK: nn.matmul
nn.step "infer" @reshapes(%x: tensor<8x1x8xf32> {nn.role = "input"}) -> (y: tensor<8x8xf32> {nn.role = "output"}) {
  %0 = nn.square %x : tensor<8x1x8xf32>
  %1 = nn.reshape %0 : tensor<8x1x8xf32> to tensor<1x8x8xf32>
  %2 = nn.relu %1 : tensor<1x8x8xf32>
  %3 = nn.reshape %2 : tensor<1x8x8xf32> to tensor<8x8xf32>
  %4 = nn.matmul %3, %3 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nn.return %4 : tensor<8x8xf32>
}

// -----

// The scale of the gradient and the loss, which is scaled by it, do not join: between them stand the loss and its
// gradient, one kernel, although the loss's rows come before the scale in the program.
// CHECK-LABEL: nn.step "train" @loss_and_gradient
// CHECK: %[[SCALE:.*]] = nn.fusion({{.*}}) -> tensor<f32> attributes {label = "div"}
// CHECK: nn.fusion({{.*}}) -> ({{.*}}) attributes {label = "cross_entropy_rows cross_entropy_rows_grad"}
// CHECK: %[[SUM:.*]] = dist.all_reduce
// CHECK: nn.fusion(%{{.*}} = %[[SUM]] : tensor<f32>, %{{.*}} = %[[SCALE]] : tensor<f32>) -> tensor<f32> attributes {label = "mul"}
dist.mesh @mesh axes(["data" = 2])
nn.step "train" @loss_and_gradient(
    %logits: tensor<7x10xf32> {nn.role = "input"}, %label: tensor<7xi32> {nn.role = "input"},
    %count: tensor<f32> {nn.role = "input"}, %one: tensor<f32> {nn.role = "input"})
    -> (loss: tensor<f32> {nn.role = "loss"}, dlogits: tensor<7x10xf32> {nn.role = "output"}) {
  %rows = nn.cross_entropy_rows %logits, %label {ignore_index = -100 : i64} : (tensor<7x10xf32>, tensor<7xi32>) -> tensor<7xf32>
  %part = nn.reduce_sum %rows {axes = array<i64: 0>} : (tensor<7xf32>) -> tensor<f32>
  %scale = nn.div %one, %count : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %sum = dist.all_reduce sum over @mesh ["data"](%part) : tensor<f32>
  %0 = nn.reshape %scale : tensor<f32> to tensor<1xf32>
  %1 = nn.broadcast %0 : tensor<1xf32> to tensor<14xf32>
  %grad = dist.slice over @mesh ["data"] dim 0(%1) {sizes = array<i64: 7, 7>} : tensor<14xf32> to tensor<7xf32>
  %dlogits = nn.cross_entropy_rows_grad %grad, %logits, %label {ignore_index = -100 : i64}
      : (tensor<7xf32>, tensor<7x10xf32>, tensor<7xi32>) -> tensor<7x10xf32>
  %loss = nn.mul %sum, %scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.return %loss, %dlogits : tensor<f32>, tensor<7x10xf32>
}

// -----

// %scaled is computed again in the second kernel. In the first nothing needs it, but it makes the rows of %sum and of %y
// the same loop, so it stays.
// CHECK-LABEL: nn.step "infer" @link_between_loops
// CHECK: nn.linear
// CHECK: nn.fusion({{.*}}) -> (tensor<8x1xf32>, tensor<8x8xf32>)
// CHECK: nn.reduce_sum
// CHECK: nn.mul
// CHECK: nn.add
// CHECK: nn.fusion({{.*}}) -> tensor<8xf32>
// CHECK: nn.mul
// CHECK: nn.mul
// CHECK: nn.reduce_sum
nn.step "infer" @link_between_loops(%x: tensor<8x8xf32> {nn.role = "input"}, %w: tensor<8x8xf32> {nn.role = "input"})
    -> (y: tensor<8x8xf32> {nn.role = "output"}, z: tensor<8xf32> {nn.role = "output"}) {
  %0 = nn.mul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = nn.reduce_sum %x {axes = array<i64: 1>, keep_dims} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %1 = nn.linear %w, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %scaled = nn.mul %x, %sum : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x8xf32>
  %y = nn.add %0, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.mul %1, %scaled : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = nn.reduce_sum %2 {axes = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8xf32>
  nn.return %y, %z : tensor<8x8xf32>, tensor<8xf32>
}
