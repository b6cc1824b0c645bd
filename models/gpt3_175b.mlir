// GPT-3 (Brown et al. 2020): 174,604,259,328 parameters, 2,048 tokens of context; every layer with dense attention.
nn.block @layer(%x: tensor<?x2048x12288xf32>) -> tensor<?x2048x12288xf32> {
  // Attention, on the normalized input.
  %g1 = nn.param "ln_1.weight" init(ones) dims("model") : tensor<12288xf32>
  %n1 = nn.param "ln_1.bias" init(zeros) dims("model") : tensor<12288xf32>
  %ln1 = nn.layer_norm %x, %g1, %n1 : (tensor<?x2048x12288xf32>, tensor<12288xf32>, tensor<12288xf32>) -> tensor<?x2048x12288xf32>
  %wqkv = nn.param "attn.qkv.weight" init(normal(0.02)) dims("model", "qkv") : tensor<12288x36864xf32>
  %bqkv = nn.param "attn.qkv.bias" init(zeros) dims("qkv") : tensor<36864xf32>
  %qkv = nn.linear %ln1, %wqkv, %bqkv
      : (tensor<?x2048x12288xf32>, tensor<12288x36864xf32>, tensor<36864xf32>) -> tensor<?x2048x36864xf32>
  %q, %k, %v = nn.split %qkv {axis = 2 : i64, sizes = array<i64: 12288, 12288, 12288>}
      : (tensor<?x2048x36864xf32>) -> (tensor<?x2048x12288xf32>, tensor<?x2048x12288xf32>, tensor<?x2048x12288xf32>)
  %qh = nn.reshape %q : tensor<?x2048x12288xf32> to tensor<?x2048x96x128xf32>
  %kh = nn.reshape %k : tensor<?x2048x12288xf32> to tensor<?x2048x96x128xf32>
  %vh = nn.reshape %v : tensor<?x2048x12288xf32> to tensor<?x2048x96x128xf32>
  %ah = nn.attention %qh, %kh, %vh {causal} : (tensor<?x2048x96x128xf32>, tensor<?x2048x96x128xf32>, tensor<?x2048x96x128xf32>) -> tensor<?x2048x96x128xf32>
  %a = nn.reshape %ah : tensor<?x2048x96x128xf32> to tensor<?x2048x12288xf32>
  %wo = nn.param "attn.proj.weight" init(normal(0.001443375673)) dims("model", "model") : tensor<12288x12288xf32>
  %bo = nn.param "attn.proj.bias" init(zeros) dims("model") : tensor<12288xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x2048x12288xf32>, tensor<12288x12288xf32>, tensor<12288xf32>) -> tensor<?x2048x12288xf32>
  %r1 = nn.add %x, %o : (tensor<?x2048x12288xf32>, tensor<?x2048x12288xf32>) -> tensor<?x2048x12288xf32>

  // The perceptron, on the normalized sum.
  %g2 = nn.param "ln_2.weight" init(ones) dims("model") : tensor<12288xf32>
  %n2 = nn.param "ln_2.bias" init(zeros) dims("model") : tensor<12288xf32>
  %ln2 = nn.layer_norm %r1, %g2, %n2 : (tensor<?x2048x12288xf32>, tensor<12288xf32>, tensor<12288xf32>) -> tensor<?x2048x12288xf32>
  %wfc = nn.param "mlp.fc.weight" init(normal(0.02)) dims("model", "hidden") : tensor<12288x49152xf32>
  %bfc = nn.param "mlp.fc.bias" init(zeros) dims("hidden") : tensor<49152xf32>
  %f = nn.linear %ln2, %wfc, %bfc : (tensor<?x2048x12288xf32>, tensor<12288x49152xf32>, tensor<49152xf32>) -> tensor<?x2048x49152xf32>
  %gelu = nn.gelu %f {tanh} : tensor<?x2048x49152xf32>
  %wpr = nn.param "mlp.proj.weight" init(normal(0.001443375673)) dims("hidden", "model") : tensor<49152x12288xf32>
  %bpr = nn.param "mlp.proj.bias" init(zeros) dims("model") : tensor<12288xf32>
  %m = nn.linear %gelu, %wpr, %bpr : (tensor<?x2048x49152xf32>, tensor<49152x12288xf32>, tensor<12288xf32>) -> tensor<?x2048x12288xf32>
  %r2 = nn.add %r1, %m : (tensor<?x2048x12288xf32>, tensor<?x2048x12288xf32>) -> tensor<?x2048x12288xf32>
  nn.return %r2 : tensor<?x2048x12288xf32>
}

nn.model @gpt3_175b(%tokens: tensor<?x2048xi32> {nn.dims = ["batch", "sequence"]},
                  %labels: tensor<?x2048xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x2048x50257xf32>, accuracy: tensor<f32>) {
  // The table of token embeddings is also the output head's weight.
  %wte = nn.param "wte.weight" init(normal(0.02)) dims("vocab", "model") : tensor<50257x12288xf32>
  %wpe = nn.param "wpe.weight" init(normal(0.02)) dims("sequence", "model") : tensor<2048x12288xf32>
  %te = nn.embedding %wte, %tokens : (tensor<50257x12288xf32>, tensor<?x2048xi32>) -> tensor<?x2048x12288xf32>
  %e = nn.add %te, %wpe : (tensor<?x2048x12288xf32>, tensor<2048x12288xf32>) -> tensor<?x2048x12288xf32>
  %h = nn.repeat 96 @layer "h" (%e) : (tensor<?x2048x12288xf32>) -> tensor<?x2048x12288xf32>
  %g = nn.param "ln_f.weight" init(ones) dims("model") : tensor<12288xf32>
  %n = nn.param "ln_f.bias" init(zeros) dims("model") : tensor<12288xf32>
  %f = nn.layer_norm %h, %g, %n : (tensor<?x2048x12288xf32>, tensor<12288xf32>, tensor<12288xf32>) -> tensor<?x2048x12288xf32>
  %logits = nn.linear %f, %wte {transpose_weight} : (tensor<?x2048x12288xf32>, tensor<50257x12288xf32>) -> tensor<?x2048x50257xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x2048x50257xf32>, tensor<?x2048xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x2048x50257xf32>, tensor<?x2048xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x2048x50257xf32>, tensor<f32>
}
