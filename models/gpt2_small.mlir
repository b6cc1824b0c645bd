// GPT-2 small (Radford et al. 2019): 124,439,808 parameters, 1,024 tokens of context.
nn.block @layer(%x: tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32> {
  // Attention, on the normalized input.
  %g1 = nn.param "ln_1.weight" init(ones) dims("model") : tensor<768xf32>
  %n1 = nn.param "ln_1.bias" init(zeros) dims("model") : tensor<768xf32>
  %ln1 = nn.layer_norm %x, %g1, %n1 : (tensor<?x1024x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x1024x768xf32>
  %wqkv = nn.param "attn.qkv.weight" init(normal(0.02)) dims("model", "qkv") : tensor<768x2304xf32>
  %bqkv = nn.param "attn.qkv.bias" init(zeros) dims("qkv") : tensor<2304xf32>
  %qkv = nn.linear %ln1, %wqkv, %bqkv
      : (tensor<?x1024x768xf32>, tensor<768x2304xf32>, tensor<2304xf32>) -> tensor<?x1024x2304xf32>
  %q, %k, %v = nn.split %qkv {axis = 2 : i64, sizes = array<i64: 768, 768, 768>}
      : (tensor<?x1024x2304xf32>) -> (tensor<?x1024x768xf32>, tensor<?x1024x768xf32>, tensor<?x1024x768xf32>)
  %qh = nn.reshape %q : tensor<?x1024x768xf32> to tensor<?x1024x12x64xf32>
  %kh = nn.reshape %k : tensor<?x1024x768xf32> to tensor<?x1024x12x64xf32>
  %vh = nn.reshape %v : tensor<?x1024x768xf32> to tensor<?x1024x12x64xf32>
  %ah = nn.attention %qh, %kh, %vh {causal} : (tensor<?x1024x12x64xf32>, tensor<?x1024x12x64xf32>, tensor<?x1024x12x64xf32>) -> tensor<?x1024x12x64xf32>
  %a = nn.reshape %ah : tensor<?x1024x12x64xf32> to tensor<?x1024x768xf32>
  %wo = nn.param "attn.proj.weight" init(normal(0.004082482905)) dims("model", "model") : tensor<768x768xf32>
  %bo = nn.param "attn.proj.bias" init(zeros) dims("model") : tensor<768xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x1024x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x1024x768xf32>
  %od = nn.dropout %o {rate = 0.1} : (tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32>
  %r1 = nn.add %x, %od : (tensor<?x1024x768xf32>, tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32>

  // The perceptron, on the normalized sum.
  %g2 = nn.param "ln_2.weight" init(ones) dims("model") : tensor<768xf32>
  %n2 = nn.param "ln_2.bias" init(zeros) dims("model") : tensor<768xf32>
  %ln2 = nn.layer_norm %r1, %g2, %n2 : (tensor<?x1024x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x1024x768xf32>
  %wfc = nn.param "mlp.fc.weight" init(normal(0.02)) dims("model", "hidden") : tensor<768x3072xf32>
  %bfc = nn.param "mlp.fc.bias" init(zeros) dims("hidden") : tensor<3072xf32>
  %f = nn.linear %ln2, %wfc, %bfc : (tensor<?x1024x768xf32>, tensor<768x3072xf32>, tensor<3072xf32>) -> tensor<?x1024x3072xf32>
  %gelu = nn.gelu %f {tanh} : tensor<?x1024x3072xf32>
  %wpr = nn.param "mlp.proj.weight" init(normal(0.004082482905)) dims("hidden", "model") : tensor<3072x768xf32>
  %bpr = nn.param "mlp.proj.bias" init(zeros) dims("model") : tensor<768xf32>
  %m = nn.linear %gelu, %wpr, %bpr : (tensor<?x1024x3072xf32>, tensor<3072x768xf32>, tensor<768xf32>) -> tensor<?x1024x768xf32>
  %md = nn.dropout %m {rate = 0.1} : (tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32>
  %r2 = nn.add %r1, %md : (tensor<?x1024x768xf32>, tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32>
  nn.return %r2 : tensor<?x1024x768xf32>
}

nn.model @gpt2_small(%tokens: tensor<?x1024xi32> {nn.dims = ["batch", "sequence"]},
                  %labels: tensor<?x1024xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x1024x50257xf32>, accuracy: tensor<f32>) {
  // The table of token embeddings is also the output head's weight.
  %wte = nn.param "wte.weight" init(normal(0.02)) dims("vocab", "model") : tensor<50257x768xf32>
  %wpe = nn.param "wpe.weight" init(normal(0.02)) dims("sequence", "model") : tensor<1024x768xf32>
  %te = nn.embedding %wte, %tokens : (tensor<50257x768xf32>, tensor<?x1024xi32>) -> tensor<?x1024x768xf32>
  %e = nn.add %te, %wpe : (tensor<?x1024x768xf32>, tensor<1024x768xf32>) -> tensor<?x1024x768xf32>
  %ed = nn.dropout %e {rate = 0.1} : (tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32>
  %h = nn.repeat 12 @layer "h" (%ed) : (tensor<?x1024x768xf32>) -> tensor<?x1024x768xf32>
  %g = nn.param "ln_f.weight" init(ones) dims("model") : tensor<768xf32>
  %n = nn.param "ln_f.bias" init(zeros) dims("model") : tensor<768xf32>
  %f = nn.layer_norm %h, %g, %n : (tensor<?x1024x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x1024x768xf32>
  %logits = nn.linear %f, %wte {transpose_weight} : (tensor<?x1024x768xf32>, tensor<50257x768xf32>) -> tensor<?x1024x50257xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x1024x50257xf32>, tensor<?x1024xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x1024x50257xf32>, tensor<?x1024xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x1024x50257xf32>, tensor<f32>
}
