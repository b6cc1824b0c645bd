//===- SampleOps.h - one op of every kind that can be split -----*- C++ -*-===//
#ifndef PDC_TESTS_DIALECTS_NN_SAMPLEOPS_H
#define PDC_TESTS_DIALECTS_NN_SAMPLEOPS_H

namespace pdc::nn::testing {

// One op of every kind that can be split, with sizes that tell dimensions apart.
inline constexpr char kSampleOps[] = R"mlir(
nn.block @elementwise(%x: tensor<6x4xf32>, %y: tensor<4xf32>, %s: tensor<1x4xf32>, %seed: tensor<i64>) -> tensor<6x4xf32> {
  %0 = nn.relu %x : tensor<6x4xf32>
  %1 = nn.silu %0 : tensor<6x4xf32>
  %2 = nn.tanh %1 : tensor<6x4xf32>
  %3 = nn.sigmoid %2 : tensor<6x4xf32>
  %4 = nn.exp %3 : tensor<6x4xf32>
  %5 = nn.log %4 : tensor<6x4xf32>
  %6 = nn.sqrt %5 : tensor<6x4xf32>
  %7 = nn.rsqrt %6 : tensor<6x4xf32>
  %8 = nn.neg %7 : tensor<6x4xf32>
  %9 = nn.abs %8 : tensor<6x4xf32>
  %10 = nn.square %9 : tensor<6x4xf32>
  %11 = nn.gelu %10 : tensor<6x4xf32>
  %12 = nn.relu_grad %11, %x : tensor<6x4xf32>
  %13 = nn.silu_grad %12, %x : tensor<6x4xf32>
  %14 = nn.tanh_grad %13, %x : tensor<6x4xf32>
  %15 = nn.sigmoid_grad %14, %x : tensor<6x4xf32>
  %16 = nn.gelu_grad %15, %x : tensor<6x4xf32>
  %17 = nn.add %16, %y : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %18 = nn.sub %17, %s : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %19 = nn.mul %y, %18 : (tensor<4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %20 = nn.div %19, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %21 = nn.max %20, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %22 = nn.min %21, %x : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32>
  %c = nn.compare ge %22, %y : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xi1>
  %23 = nn.select %c, %22, %y : (tensor<6x4xi1>, tensor<6x4xf32>, tensor<4xf32>) -> tensor<6x4xf32>
  %24 = nn.cast %23 : tensor<6x4xf32> to tensor<6x4xbf16>
  %25 = nn.constant dense<1.0> : tensor<6x4xf32>
  %26 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %27 = nn.iota 1 : tensor<6x4xi32>
  %28 = nn.dropout_mask %seed {rate = 0.5 : f64, stream = 0 : i64, global_shape = array<i64: 6, 4>, start_dimensions = array<i64>} : (tensor<i64>) -> tensor<6x4xf32>
  %29 = nn.dropout %x {rate = 0.5 : f64} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  nn.return %29 : tensor<6x4xf32>
}
nn.block @shapes(%x: tensor<6x4x8xf32>, %row: tensor<1x8xf32>) -> tensor<24x8xf32> {
  %0 = nn.reshape %x : tensor<6x4x8xf32> to tensor<24x8xf32>
  %1 = nn.reshape %x : tensor<6x4x8xf32> to tensor<6x4x2x4xf32>
  %2 = nn.reshape %x : tensor<6x4x8xf32> to tensor<6x1x32x1xf32>
  %3 = nn.reshape %0 : tensor<24x8xf32> to tensor<8x24xf32>
  %4 = nn.reshape %0 : tensor<24x8xf32> to tensor<16x12xf32>
  %5 = nn.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<6x4x8xf32>) -> tensor<8x6x4xf32>
  %6 = nn.broadcast %row : tensor<1x8xf32> to tensor<3x5x8xf32>
  %7 = nn.slice %x {offsets = array<i64: 0, 1, 0>, sizes = array<i64: -1, 2, 8>} : (tensor<6x4x8xf32>) -> tensor<6x2x8xf32>
  %8 = nn.pad %x {low = array<i64: 0, 1, 0>, high = array<i64: 0, 1, 0>} : (tensor<6x4x8xf32>) -> tensor<6x6x8xf32>
  %9 = nn.concat %x, %7 {axis = 1 : i64} : (tensor<6x4x8xf32>, tensor<6x2x8xf32>) -> tensor<6x6x8xf32>
  %10:2 = nn.split %x {axis = 2 : i64, sizes = array<i64: 7, 1>} : (tensor<6x4x8xf32>) -> (tensor<6x4x7xf32>, tensor<6x4x1xf32>)
  %11 = nn.reduce_sum %x {axes = array<i64: 0, 2>} : (tensor<6x4x8xf32>) -> tensor<4xf32>
  %12 = nn.reduce_max %x {axes = array<i64: 1>, keep_dims} : (tensor<6x4x8xf32>) -> tensor<6x1x8xf32>
  %13 = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<6x4x8xf32>) -> tensor<6x8xf32>
  nn.return %0 : tensor<24x8xf32>
}
nn.block @contractions(%x: tensor<5x6x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %ids: tensor<5x6xi32>, %image: tensor<2x4x8x8xf32>, %kernel: tensor<6x2x3x3xf32>) -> tensor<5x6x8xf32> {
  %0 = nn.linear %x, %w, %b : (tensor<5x6x4xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<5x6x8xf32>
  %1 = nn.linear_grad_weight %x, %0 : (tensor<5x6x4xf32>, tensor<5x6x8xf32>) -> tensor<4x8xf32>
  %2 = nn.matmul %w, %w {transpose_rhs} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %3 = nn.batch_matmul %x, %x {transpose_lhs} : (tensor<5x6x4xf32>, tensor<5x6x4xf32>) -> tensor<5x4x4xf32>
  %4 = nn.embedding %w, %ids : (tensor<4x8xf32>, tensor<5x6xi32>) -> tensor<5x6x8xf32>
  %5 = nn.embedding_grad %4, %ids : (tensor<5x6x8xf32>, tensor<5x6xi32>) -> tensor<4x8xf32>
  %6 = nn.conv2d %image, %kernel {groups = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x6x6xf32>
  %7 = nn.conv2d_grad_input %6, %kernel {groups = 2 : i64} : (tensor<2x6x6x6xf32>, tensor<6x2x3x3xf32>) -> tensor<2x4x8x8xf32>
  %8 = nn.conv2d_grad_weight %6, %image {groups = 2 : i64} : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x2x3x3xf32>
  %9 = nn.max_pool2d %image {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %10 = nn.max_pool2d_grad %9, %image {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x4x4xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %11 = nn.avg_pool2d %image {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32>
  %12 = nn.avg_pool2d_grad %11 {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>} : (tensor<2x4x4x4xf32>) -> tensor<2x4x8x8xf32>
  %13 = nn.global_avg_pool2d %image : (tensor<2x4x8x8xf32>) -> tensor<2x4xf32>
  nn.return %0 : tensor<5x6x8xf32>
}
nn.block @routing(%x: tensor<3x4x6xf32>, %gates: tensor<3x4x5xf32>) -> tensor<3x4x6xf32> {
  %0:2 = nn.top_k %gates {k = 2 : i64} : (tensor<3x4x5xf32>) -> (tensor<3x4x2xf32>, tensor<3x4x2xi32>)
  %1 = nn.expert_slots %0#1 {experts = 5 : i64, capacity = 2 : i64} : (tensor<3x4x2xi32>) -> tensor<3x4x2xi32>
  %2 = nn.dispatch %x to %1 {count = 10 : i64} : (tensor<3x4x6xf32>, tensor<3x4x2xi32>) -> tensor<3x10x6xf32>
  %3 = nn.dispatch %x to %1 gates %0#0 {count = 10 : i64} : (tensor<3x4x6xf32>, tensor<3x4x2xi32>, tensor<3x4x2xf32>) -> tensor<3x10x6xf32>
  %4 = nn.combine %2, %1, %0#0 : (tensor<3x10x6xf32>, tensor<3x4x2xi32>, tensor<3x4x2xf32>) -> tensor<3x4x6xf32>
  %5 = nn.combine_grad_gates %x, %2, %1 : (tensor<3x4x6xf32>, tensor<3x10x6xf32>, tensor<3x4x2xi32>) -> tensor<3x4x2xf32>
  %6 = nn.load_balancing_loss %gates, %0#1 : (tensor<3x4x5xf32>, tensor<3x4x2xi32>) -> tensor<f32>
  nn.return %4 : tensor<3x4x6xf32>
}
nn.block @several_dimensions(%x: tensor<5x6x4xf32>, %w: tensor<4x3x2xf32>, %b: tensor<3x2xf32>, %wt: tensor<3x2x4xf32>, %out: tensor<4xf32>) -> tensor<5x6x4xf32> {
  %0 = nn.linear %x, %w, %b : (tensor<5x6x4xf32>, tensor<4x3x2xf32>, tensor<3x2xf32>) -> tensor<5x6x3x2xf32>
  %1 = nn.linear %x, %wt, %b {transpose_weight} : (tensor<5x6x4xf32>, tensor<3x2x4xf32>, tensor<3x2xf32>) -> tensor<5x6x3x2xf32>
  %2 = nn.linear %0, %w {transpose_weight, inner_dims = 2 : i64} : (tensor<5x6x3x2xf32>, tensor<4x3x2xf32>) -> tensor<5x6x4xf32>
  %3 = nn.linear %0, %wt, %out {inner_dims = 2 : i64} : (tensor<5x6x3x2xf32>, tensor<3x2x4xf32>, tensor<4xf32>) -> tensor<5x6x4xf32>
  %4 = nn.linear_grad_weight %x, %0 : (tensor<5x6x4xf32>, tensor<5x6x3x2xf32>) -> tensor<4x3x2xf32>
  %5 = nn.linear_grad_weight %0, %x {transpose_weight, inner_dims = 2 : i64} : (tensor<5x6x3x2xf32>, tensor<5x6x4xf32>) -> tensor<4x3x2xf32>
  nn.return %3 : tensor<5x6x4xf32>
}
nn.block @layers(%x: tensor<5x6x4xf32>, %g: tensor<4xf32>, %labels: tensor<5x6xi32>, %scores_input: tensor<2x4x6xf32>, %q: tensor<2x6x4x8xf32>, %image: tensor<2x4x8x8xf32>) -> tensor<f32> {
  %0 = nn.layer_norm %x, %g, %g : (tensor<5x6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5x6x4xf32>
  %1:3 = nn.layer_norm_grad %0, %x, %g {epsilon = 1.0e-5 : f64} : (tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<4xf32>) -> (tensor<5x6x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %2 = nn.rms_norm %x, %g : (tensor<5x6x4xf32>, tensor<4xf32>) -> tensor<5x6x4xf32>
  %3:2 = nn.rms_norm_grad %2, %x, %g {epsilon = 1.0e-5 : f64} : (tensor<5x6x4xf32>, tensor<5x6x4xf32>, tensor<4xf32>) -> (tensor<5x6x4xf32>, tensor<4xf32>)
  %4 = nn.softmax %x : (tensor<5x6x4xf32>) -> tensor<5x6x4xf32>
  %scores = nn.softmax %scores_input {causal, scale = 0.5 : f64} : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %5 = nn.softmax_grad %x, %4 : (tensor<5x6x4xf32>, tensor<5x6x4xf32>) -> tensor<5x6x4xf32>
  %6 = nn.attention %q, %q, %q {causal} : (tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>, tensor<2x6x4x8xf32>) -> tensor<2x6x4x8xf32>
  %7 = nn.cross_entropy %x, %labels : (tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<f32>
  %8 = nn.cross_entropy_rows %x, %labels {ignore_index = -100 : i64} : (tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<5x6xf32>
  %9 = nn.cross_entropy_rows_grad %8, %x, %labels {ignore_index = -100 : i64} : (tensor<5x6xf32>, tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<5x6x4xf32>
  %10 = nn.mse %x, %0 : (tensor<5x6x4xf32>, tensor<5x6x4xf32>) -> tensor<f32>
  %11 = nn.accuracy %x, %labels : (tensor<5x6x4xf32>, tensor<5x6xi32>) -> tensor<f32>
  %m = nn.state "m" init(zeros) : tensor<4xf32>
  %v = nn.state "v" init(ones) : tensor<4xf32>
  %12 = nn.batch_norm %image, %g, %g, %m, %v : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %13 = nn.step_seed : tensor<i64>
  nn.return %7 : tensor<f32>
}
)mlir";

} // namespace pdc::nn::testing

#endif // PDC_TESTS_DIALECTS_NN_SAMPLEOPS_H
