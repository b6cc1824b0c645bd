// RUN: pdc %S/../../../../models/gpt2_medium.mlir --batch=1 --ranks=8 --cluster=dgx_h100:nodes=1 --precision=bf16 --parallel=tensor --to=partitioned > %t
// RUN: FileCheck %s --input-file=%t --check-prefix=SUMS
// RUN: FileCheck %s --input-file=%t --check-prefix=HEADS

// GPT-2 medium, whose queries, keys and values are one product, is split as Megatron-LM does it (Shoeybi et al. 2019) on
// eight devices with fast links: in each of 24 blocks two sums of activations forward and two backward. (And one of the
// gradient of the last layer_norm's result.)
// SUMS: nn.step "train"
// SUMS: dist.reduce_scatter sum over @mesh ["tensor"] {{.*}} to tensor<1x128x1024xf32>
// SUMS-COUNT-48: dist.all_reduce sum over @mesh ["tensor"]{{.*}} : tensor<1x1024x1024xbf16>
// SUMS-NOT: dist.all_reduce {{.*}} tensor<1x1024x1024xbf16>
// SUMS: nn.cross_entropy_rows_grad
// SUMS: dist.all_to_all
// SUMS-COUNT-49: dist.all_reduce sum over @mesh ["tensor"]{{.*}} : tensor<1x1024x1024xbf16>
// SUMS-NOT: dist.{{all_reduce|reduce_scatter|all_to_all}}
// SUMS: nn.step

// A rank has two of 16 heads: 128 columns of each of queries, keys and values.
// HEADS: nn.step "train"
// HEADS-COUNT-24: nn.linear {{.*}} : (tensor<1x1024x1024xbf16>, tensor<1024x3x128xbf16>, tensor<3x128xbf16>) -> tensor<1x1024x3x128xbf16>
// HEADS-COUNT-24: nn.softmax_grad {{.*}} -> tensor<1x2x1024x1024xbf16>
// HEADS-COUNT-24: nn.linear_grad_weight {{.*}} -> tensor<1024x3x128xbf16>
