// RUN: not pdc-opt %s --autodiff=optimizer=adamm 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not pdc-opt %s --autodiff="optimizer=sgd hyperparameters=beta1=0.9" 2>&1 | FileCheck %s --check-prefix=HYPER
// RUN: not pdc-opt %s --autodiff="optimizer=adam hyperparameters=beta1=1" 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not pdc-opt %s --autodiff="optimizer=adam hyperparameters=beta1=much" 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not pdc-opt %s --autodiff=clip-norm=-1 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not pdc-opt %s --autodiff=modes=trian 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not pdc-opt %s --autodiff=modes=train,train 2>&1 | FileCheck %s --check-prefix=TWICE

// NAME: error: unknown optimizer 'adamm'; there are sgd, momentum, adam, adamw, lars, lamb
// HYPER: error: optimizer 'sgd' has no hyperparameter 'beta1'; it has weight_decay
// RANGE: error: hyperparameter 'beta1' of optimizer 'adam' must be at least 0 and below 1, got 1
// NUMBER: error: hyperparameter 'beta1' of optimizer 'adam' needs a number, as in beta1=0.9; got 'much'
// CLIP: error: clip-norm must be a positive number, or 0 for no clipping; got -1
// MODE: error: unknown mode 'trian'; expected train, gradient, evaluate or infer
// TWICE: error: mode 'train' is given twice
nn.model @m(%x: tensor<2xf32>) -> tensor<f32> {
  %w = nn.param "w" init(ones) : tensor<2xf32>
  %y = nn.mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %loss = nn.reduce_sum %y {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
