// RUN: pdc-opt %s --autodiff="modes=train optimizer=sgd" --verify-step | FileCheck %s --check-prefix=SGD
// RUN: pdc-opt %s --autodiff="modes=train optimizer=sgd hyperparameters=weight_decay=0.5" --verify-step | FileCheck %s --check-prefix=DECAY
// RUN: pdc-opt %s --autodiff="modes=train optimizer=momentum hyperparameters=momentum=0.5,nesterov=1" --verify-step | FileCheck %s --check-prefix=NESTEROV
// RUN: pdc-opt %s --autodiff="modes=train optimizer=adam" --verify-step | FileCheck %s --check-prefix=ADAM
// RUN: pdc-opt %s --autodiff="modes=train optimizer=adamw hyperparameters=weight_decay=0.125" --verify-step | FileCheck %s --check-prefix=ADAMW
// RUN: pdc-opt %s --autodiff="modes=train optimizer=lars" --verify-step | FileCheck %s --check-prefix=LARS
// RUN: pdc-opt %s --autodiff="modes=train optimizer=lamb" --verify-step | FileCheck %s --check-prefix=LAMB
// RUN: pdc-opt %s --autodiff="modes=train,gradient clip-norm=1" --verify-step | FileCheck %s --check-prefix=CLIP

// There is one gradient, the product with %x; what follows it is the update.

// p' = p - lr g
// SGD: %[[G:.*]] = nn.mul %{{.*}}, %x
// SGD-NEXT: %[[U:.*]] = nn.mul %[[G]], %learning_rate
// SGD-NEXT: %[[P:.*]] = nn.sub %w, %[[U]]
// SGD: nn.return %{{.*}}, %[[P]]

// g + wd p
// DECAY: %[[G:.*]] = nn.mul %{{.*}}, %x
// DECAY-NEXT: %[[WD:.*]] = nn.constant dense<5.000000e-01> : tensor<f32>
// DECAY-NEXT: %[[D:.*]] = nn.mul %w, %[[WD]]
// DECAY-NEXT: %[[U:.*]] = nn.add %[[G]], %[[D]]
// DECAY-NEXT: nn.mul %[[U]], %learning_rate

// NESTEROV: nn.step "train" @train(%w: tensor<2x3xf32> {{[^%]*}}, %[[SLOT:[^:]*]]: tensor<2x3xf32> {nn.init = #nn.init<zeros>, nn.name = "w", nn.role = "optimizer_state", nn.slot = "momentum"}
// NESTEROV: %[[G:.*]] = nn.mul %{{.*}}, %x
// NESTEROV-NEXT: %[[MU:.*]] = nn.constant dense<5.000000e-01> : tensor<f32>
// NESTEROV-NEXT: %[[OLD:.*]] = nn.mul %[[SLOT]], %[[MU]]
// NESTEROV-NEXT: %[[M:.*]] = nn.add %[[OLD]], %[[G]]
// NESTEROV-NEXT: %[[AHEAD:.*]] = nn.mul %[[M]], %[[MU]]
// NESTEROV-NEXT: %[[U:.*]] = nn.add %[[G]], %[[AHEAD]]
// NESTEROV-NEXT: %[[S:.*]] = nn.mul %[[U]], %learning_rate
// NESTEROV-NEXT: %[[P:.*]] = nn.sub %w, %[[S]]
// NESTEROV: nn.return %{{.*}}, %[[P]], %[[M]]

// ADAM: nn.slot = "m"
// ADAM-SAME: nn.slot = "v"
// ADAM-SAME: %learning_rate: tensor<f32> {{.*}} %step: tensor<f32>
// ADAM: %[[G:.*]] = nn.mul %{{.*}}, %x
// ADAM: nn.square %[[G]]
// ADAM: nn.exp
// ADAM: nn.sqrt
// ADAM: nn.return %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<f32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>

// The decay is no part of the moments.
// ADAMW: %[[WD:.*]] = nn.constant dense<1.250000e-01> : tensor<f32>
// ADAMW-NEXT: %[[D:.*]] = nn.mul %w, %[[WD]]
// ADAMW-NEXT: %[[U:.*]] = nn.add %{{.*}}, %[[D]]
// ADAMW-NEXT: %[[S:.*]] = nn.mul %[[U]], %learning_rate
// ADAMW-NEXT: nn.sub %w, %[[S]]

// LARS: nn.reduce_sum
// LARS: nn.select
// LARS: nn.mul %learning_rate
// LAMB: nn.exp
// LAMB: nn.select
// LAMB: nn.mul %learning_rate

// scale = min(1, clip / norm); the gradient step gives the gradient before clipping.
// CLIP: nn.step "train" @train({{.*}}grad_norm: tensor<f32> {nn.role = "metric"}
// CLIP: %[[RAW:.*]] = nn.mul %{{.*}}, %x
// CLIP-NEXT: %[[SQ:.*]] = nn.square %[[RAW]]
// CLIP-NEXT: %[[SUM:.*]] = nn.reduce_sum %[[SQ]]
// CLIP-NEXT: %[[NORM:.*]] = nn.sqrt %[[SUM]]
// CLIP: %[[RATIO:.*]] = nn.div %{{.*}}, %[[NORM]]
// CLIP: %[[SCALE:.*]] = nn.min %[[RATIO]]
// CLIP: %[[G:.*]] = nn.mul %[[RAW]], %[[SCALE]]
// CLIP: nn.mul %[[G]], %learning_rate
// CLIP: nn.return %{{.*}}, %[[NORM]], %{{.*}}
// CLIP: nn.step "gradient" @gradient(
// CLIP-NOT: grad_norm
// CLIP: %[[UNCLIPPED:.*]] = nn.mul %{{.*}}, %x
// CLIP: nn.return %{{.*}}, %[[UNCLIPPED]]
nn.model @m(%x: tensor<2x3xf32>) -> tensor<f32> {
  %w = nn.param "w" init(kaiming) : tensor<2x3xf32>
  %y = nn.mul %x, %w : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %rows = nn.reduce_sum %y {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  %loss = nn.reduce_sum %rows {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
