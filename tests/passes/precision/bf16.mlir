// RUN: pdc-opt %s --precision=type=bf16 --split-input-file | FileCheck %s
// RUN: pdc-opt %s --precision=type=f32 --split-input-file | FileCheck %s --check-prefix=F32

// F32-NOT: bf16

// Compute in bf16, one cast for each parameter, the loss in f32; the model's results keep their types.
// CHECK-LABEL: nn.model @linear(
// CHECK-SAME: (loss: tensor<f32>, out: tensor<4x8xf32>)
nn.model @linear(%x: tensor<4x8xf32>) -> (loss: tensor<f32>, out: tensor<4x8xf32>) {
  // CHECK: %[[X:.*]] = nn.cast %x : tensor<4x8xf32> to tensor<4x8xbf16>
  // CHECK: %[[W:.*]] = nn.param "w" init(kaiming) : tensor<8x8xf32>
  // CHECK-NEXT: %[[WC:.*]] = nn.cast %[[W]] : tensor<8x8xf32> to tensor<8x8xbf16>
  // CHECK-NOT: nn.cast %[[W]]
  %w = nn.param "w" init(kaiming) : tensor<8x8xf32>
  // CHECK: %[[Y:.*]] = nn.linear %[[X]], %[[WC]] : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
  %y = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // CHECK: nn.gelu %[[Y]] : tensor<4x8xbf16>
  %a = nn.gelu %y : tensor<4x8xf32>
  // CHECK: %[[Z:.*]] = nn.linear %{{.*}}, %[[WC]]
  // CHECK-NEXT: %[[ZF:.*]] = nn.cast %[[Z]] : tensor<4x8xbf16> to tensor<4x8xf32>
  %z = nn.linear %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  // Scalars are computed in f32.
  // CHECK: nn.reduce_sum %[[ZF]] {{.*}} : (tensor<4x8xf32>) -> tensor<f32>
  %loss = nn.reduce_sum %z {axes = array<i64: 0, 1>} : (tensor<4x8xf32>) -> tensor<f32>
  // CHECK: nn.return %{{.*}}, %[[ZF]] : tensor<f32>, tensor<4x8xf32>
  nn.return %loss, %z : tensor<f32>, tensor<4x8xf32>
}

// -----

// Normalizations keep scale, bias and statistics in f32, embeddings their table; typed ops follow their operand.
// CHECK-LABEL: nn.model @layers(
nn.model @layers(%ids: tensor<4x6xi32>, %label: tensor<4x6xi32>) -> tensor<f32> {
  %table = nn.param "table" init(normal(0.02)) : tensor<10x8xf32>
  // CHECK: %[[E:.*]] = nn.embedding {{.*}} : (tensor<10x8xf32>, tensor<4x6xi32>) -> tensor<4x6x8xf32>
  // CHECK-NEXT: %[[EB:.*]] = nn.cast %[[E]] : tensor<4x6x8xf32> to tensor<4x6x8xbf16>
  %e = nn.embedding %table, %ids : (tensor<10x8xf32>, tensor<4x6xi32>) -> tensor<4x6x8xf32>
  %g = nn.param "g" init(ones) : tensor<8xf32>
  // CHECK: nn.layer_norm %[[EB]], %{{.*}} : (tensor<4x6x8xbf16>, tensor<8xf32>) -> tensor<4x6x8xbf16>
  %n = nn.layer_norm %e, %g : (tensor<4x6x8xf32>, tensor<8xf32>) -> tensor<4x6x8xf32>
  // CHECK: nn.reshape %{{.*}} : tensor<4x6x8xbf16> to tensor<4x8x6x1xbf16>
  %r = nn.reshape %n : tensor<4x6x8xf32> to tensor<4x8x6x1xf32>
  %s = nn.param "s" init(ones) : tensor<8xf32>
  %b = nn.param "b" init(zeros) : tensor<8xf32>
  %m = nn.state "m" init(zeros) : tensor<8xf32>
  %v = nn.state "v" init(ones) : tensor<8xf32>
  // CHECK: nn.batch_norm {{.*}} : (tensor<4x8x6x1xbf16>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8x6x1xbf16>
  %bn = nn.batch_norm %r, %s, %b, %m, %v : (tensor<4x8x6x1xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8x6x1xf32>
  %back = nn.reshape %bn : tensor<4x8x6x1xf32> to tensor<4x6x8xf32>
  // The loss takes logits in bf16 and computes in f32.
  // CHECK: nn.cross_entropy {{.*}} : (tensor<4x6x8xbf16>, tensor<4x6xi32>) -> tensor<f32>
  %ce = nn.cross_entropy %back, %label : (tensor<4x6x8xf32>, tensor<4x6xi32>) -> tensor<f32>
  // CHECK: nn.mse {{.*}} : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<f32>
  %mse = nn.mse %back, %e : (tensor<4x6x8xf32>, tensor<4x6x8xf32>) -> tensor<f32>
  // CHECK: nn.add {{.*}} : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = nn.add %ce, %mse : (tensor<f32>, tensor<f32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
