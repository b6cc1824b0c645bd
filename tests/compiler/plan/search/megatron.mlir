// On eight devices with fast links, a transformer of which there is little batch is split as Megatron-LM does it (Shoeybi et
// al. 2019): query, key, value and the first matrix of the perceptron by columns, what follows by rows, heads in parts, with
// two sums of activations forward and two backward a block; the embedding by words.
// RUN: pdc %s --batch=1 --ranks=8 --cluster=dgx_h100:nodes=1 --precision=bf16 --to=plan | FileCheck %s --check-prefix=PLAN
// RUN: pdc %s --batch=1 --ranks=8 --cluster=dgx_h100:nodes=1 --precision=bf16 --to=partitioned | FileCheck %s --check-prefix=SUMS
//
// --parallel=tensor finds it too. Here, with more samples, an all_reduce forward is a reduce_scatter and an all_gather of the
// same bytes, the residual between them in parts; and the loss is vocabulary-parallel: no logits move, only a maximum and sums
// of a number a token.
// RUN: pdc %s --batch=4 --ranks=8 --cluster=dgx_h100:nodes=1 --precision=bf16 --parallel=tensor --to=partitioned \
// RUN:   | FileCheck %s --check-prefix=TENSOR

// PLAN: nn.step "train" @train(%embedding.weight: tensor<51200x1024xf32> {dist.layout = #dist.layout<{{\[\["data"\], \[\]\]}}>
// PLAN: nn.embedding {{.*}}sum = ["data"]
// PLAN-COUNT-3: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\], \["data"\]\]}}>]}
// PLAN: nn.softmax {{.*}}#dist.layout<{{\[\[\], \["data"\], \[\], \[\]\]}}>]
// PLAN: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\], \[\]\]}}, sum = ["data"]>]}
// PLAN: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\], \["data"\]\]}}>]}
// PLAN: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\], \[\]\]}}, sum = ["data"]>]}
// The gradients of what query, key and value read are added before they are summed up.
// PLAN: nn.layer_norm_grad
// PLAN: nn.add {{.*}}sum = ["data"]
// PLAN-NEXT: nn.linear
// PLAN-NEXT: nn.linear_grad_weight
// PLAN-NEXT: nn.add {{.*}}sum = ["data"]
// PLAN-NEXT: dist.reshard
// PLAN: nn.step "gradient"

// The embedding; two a block.
// SUMS: nn.step "train"
// SUMS: dist.all_reduce sum over @mesh ["data"]{{.*}} : tensor<1x512x1024xf32>
// SUMS-COUNT-4: dist.all_reduce sum over @mesh ["data"]{{.*}} : tensor<1x512x1024xbf16>
// SUMS-NOT: dist.all_reduce {{.*}} tensor<1x512x1024
// SUMS: nn.cross_entropy_rows_grad
// The gradient of the last layer_norm's result, and two a block.
// SUMS-COUNT-5: dist.all_reduce sum over @mesh ["data"]{{.*}} : tensor<1x512x1024xbf16>
// SUMS-NOT: dist.{{all_reduce|all_gather|reduce_scatter|all_to_all}}
// SUMS: nn.step "gradient"

// TENSOR: nn.step "train"
// TENSOR: dist.all_reduce sum over @mesh ["tensor"]{{.*}} : tensor<4x512x1024xf32>
// TENSOR-COUNT-4: dist.{{all_reduce|reduce_scatter}} sum over @mesh ["tensor"]{{.*}} : tensor<4x512x1024xbf16>
// TENSOR-NOT: dist.{{all_gather|all_to_all}} {{.*}}51200
// TENSOR: nn.linear {{.*}} -> tensor<4x512x6400xbf16>
// TENSOR: dist.all_reduce max over @mesh ["tensor"]{{.*}} : tensor<4x512x1xf32>
// TENSOR: dist.all_reduce sum over @mesh ["tensor"]{{.*}} : tensor<4x512x1xf32>
// TENSOR-NOT: 51200xbf16
// TENSOR-COUNT-5: dist.all_reduce sum over @mesh ["tensor"]{{.*}} : tensor<4x512x1024xbf16>
// TENSOR-NOT: dist.{{all_reduce|all_gather|reduce_scatter|all_to_all}}
// TENSOR: nn.step "gradient"
nn.block @layer(%x: tensor<?x512x1024xf32>) -> tensor<?x512x1024xf32> {
  %g1 = nn.param "norm1.weight" init(ones) : tensor<1024xf32>
  %b1 = nn.param "norm1.bias" init(zeros) : tensor<1024xf32>
  %n1 = nn.layer_norm %x, %g1, %b1 : (tensor<?x512x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<?x512x1024xf32>
  %wq = nn.param "query.weight" init(truncated_normal(0.02)) : tensor<1024x1024xf32>
  %wk = nn.param "key.weight" init(truncated_normal(0.02)) : tensor<1024x1024xf32>
  %wv = nn.param "value.weight" init(truncated_normal(0.02)) : tensor<1024x1024xf32>
  %q = nn.linear %n1, %wq : (tensor<?x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x512x1024xf32>
  %k = nn.linear %n1, %wk : (tensor<?x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x512x1024xf32>
  %v = nn.linear %n1, %wv : (tensor<?x512x1024xf32>, tensor<1024x1024xf32>) -> tensor<?x512x1024xf32>
  %qh = nn.reshape %q : tensor<?x512x1024xf32> to tensor<?x512x16x64xf32>
  %kh = nn.reshape %k : tensor<?x512x1024xf32> to tensor<?x512x16x64xf32>
  %vh = nn.reshape %v : tensor<?x512x1024xf32> to tensor<?x512x16x64xf32>
  %ah = nn.attention %qh, %kh, %vh {causal} : (tensor<?x512x16x64xf32>, tensor<?x512x16x64xf32>, tensor<?x512x16x64xf32>) -> tensor<?x512x16x64xf32>
  %a = nn.reshape %ah : tensor<?x512x16x64xf32> to tensor<?x512x1024xf32>
  %wo = nn.param "output.weight" init(truncated_normal(0.02)) : tensor<1024x1024xf32>
  %bo = nn.param "output.bias" init(zeros) : tensor<1024xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x512x1024xf32>, tensor<1024x1024xf32>, tensor<1024xf32>) -> tensor<?x512x1024xf32>
  %r1 = nn.add %x, %o : (tensor<?x512x1024xf32>, tensor<?x512x1024xf32>) -> tensor<?x512x1024xf32>
  %g2 = nn.param "norm2.weight" init(ones) : tensor<1024xf32>
  %b2 = nn.param "norm2.bias" init(zeros) : tensor<1024xf32>
  %n2 = nn.layer_norm %r1, %g2, %b2 : (tensor<?x512x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<?x512x1024xf32>
  %wi = nn.param "fc.weight" init(truncated_normal(0.02)) : tensor<1024x4096xf32>
  %bi = nn.param "fc.bias" init(zeros) : tensor<4096xf32>
  %i = nn.linear %n2, %wi, %bi : (tensor<?x512x1024xf32>, tensor<1024x4096xf32>, tensor<4096xf32>) -> tensor<?x512x4096xf32>
  %act = nn.gelu %i : tensor<?x512x4096xf32>
  %wm = nn.param "proj.weight" init(truncated_normal(0.02)) : tensor<4096x1024xf32>
  %bm = nn.param "proj.bias" init(zeros) : tensor<1024xf32>
  %m = nn.linear %act, %wm, %bm : (tensor<?x512x4096xf32>, tensor<4096x1024xf32>, tensor<1024xf32>) -> tensor<?x512x1024xf32>
  %r2 = nn.add %r1, %m : (tensor<?x512x1024xf32>, tensor<?x512x1024xf32>) -> tensor<?x512x1024xf32>
  nn.return %r2 : tensor<?x512x1024xf32>
}
nn.model @transformer(%tokens: tensor<?x512xi32> {nn.dims = ["batch", "sequence"]},
                      %next: tensor<?x512xi32> {nn.dims = ["batch", "sequence"]}) -> (loss: tensor<f32>) {
  %we = nn.param "embedding.weight" init(truncated_normal(0.02)) dims("vocab", "model") : tensor<51200x1024xf32>
  %e = nn.embedding %we, %tokens : (tensor<51200x1024xf32>, tensor<?x512xi32>) -> tensor<?x512x1024xf32>
  %h = nn.repeat 2 @layer "layer" (%e) : (tensor<?x512x1024xf32>) -> tensor<?x512x1024xf32>
  %gf = nn.param "norm.weight" init(ones) : tensor<1024xf32>
  %bf = nn.param "norm.bias" init(zeros) : tensor<1024xf32>
  %n = nn.layer_norm %h, %gf, %bf : (tensor<?x512x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<?x512x1024xf32>
  %logits = nn.linear %n, %we {transpose_weight} : (tensor<?x512x1024xf32>, tensor<51200x1024xf32>) -> tensor<?x512x51200xf32>
  %loss = nn.cross_entropy %logits, %next : (tensor<?x512x51200xf32>, tensor<?x512xi32>) -> tensor<f32>
  nn.return %loss : tensor<f32>
}
