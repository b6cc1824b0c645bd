// A small GPT on bytes: 4 layers, width 128, 4 heads, 128 bytes of context, no dropout.
nn.block @layer(%x: tensor<?x128x128xf32>) -> tensor<?x128x128xf32> {
  // Attention, on the normalized input.
  %g1 = nn.param "ln_1.weight" init(ones) dims("model") : tensor<128xf32>
  %n1 = nn.param "ln_1.bias" init(zeros) dims("model") : tensor<128xf32>
  %ln1 = nn.layer_norm %x, %g1, %n1 : (tensor<?x128x128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x128xf32>
  %wqkv = nn.param "attn.qkv.weight" init(normal(0.02)) dims("model", "qkv") : tensor<128x384xf32>
  %bqkv = nn.param "attn.qkv.bias" init(zeros) dims("qkv") : tensor<384xf32>
  %qkv = nn.linear %ln1, %wqkv, %bqkv
      : (tensor<?x128x128xf32>, tensor<128x384xf32>, tensor<384xf32>) -> tensor<?x128x384xf32>
  %q, %k, %v = nn.split %qkv {axis = 2 : i64, sizes = array<i64: 128, 128, 128>}
      : (tensor<?x128x384xf32>) -> (tensor<?x128x128xf32>, tensor<?x128x128xf32>, tensor<?x128x128xf32>)
  %qh = nn.reshape %q : tensor<?x128x128xf32> to tensor<?x128x4x32xf32>
  %kh = nn.reshape %k : tensor<?x128x128xf32> to tensor<?x128x4x32xf32>
  %vh = nn.reshape %v : tensor<?x128x128xf32> to tensor<?x128x4x32xf32>
  %ah = nn.attention %qh, %kh, %vh {causal} : (tensor<?x128x4x32xf32>, tensor<?x128x4x32xf32>, tensor<?x128x4x32xf32>) -> tensor<?x128x4x32xf32>
  %a = nn.reshape %ah : tensor<?x128x4x32xf32> to tensor<?x128x128xf32>
  %wo = nn.param "attn.proj.weight" init(normal(0.007071067812)) dims("model", "model") : tensor<128x128xf32>
  %bo = nn.param "attn.proj.bias" init(zeros) dims("model") : tensor<128xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x128x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<?x128x128xf32>
  %r1 = nn.add %x, %o : (tensor<?x128x128xf32>, tensor<?x128x128xf32>) -> tensor<?x128x128xf32>

  // The perceptron, on the normalized sum.
  %g2 = nn.param "ln_2.weight" init(ones) dims("model") : tensor<128xf32>
  %n2 = nn.param "ln_2.bias" init(zeros) dims("model") : tensor<128xf32>
  %ln2 = nn.layer_norm %r1, %g2, %n2 : (tensor<?x128x128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x128xf32>
  %wfc = nn.param "mlp.fc.weight" init(normal(0.02)) dims("model", "hidden") : tensor<128x512xf32>
  %bfc = nn.param "mlp.fc.bias" init(zeros) dims("hidden") : tensor<512xf32>
  %f = nn.linear %ln2, %wfc, %bfc : (tensor<?x128x128xf32>, tensor<128x512xf32>, tensor<512xf32>) -> tensor<?x128x512xf32>
  %gelu = nn.gelu %f {tanh} : tensor<?x128x512xf32>
  %wpr = nn.param "mlp.proj.weight" init(normal(0.007071067812)) dims("hidden", "model") : tensor<512x128xf32>
  %bpr = nn.param "mlp.proj.bias" init(zeros) dims("model") : tensor<128xf32>
  %m = nn.linear %gelu, %wpr, %bpr : (tensor<?x128x512xf32>, tensor<512x128xf32>, tensor<128xf32>) -> tensor<?x128x128xf32>
  %r2 = nn.add %r1, %m : (tensor<?x128x128xf32>, tensor<?x128x128xf32>) -> tensor<?x128x128xf32>
  nn.return %r2 : tensor<?x128x128xf32>
}

nn.model @gpt_tiny(%tokens: tensor<?x128xi32> {nn.dims = ["batch", "sequence"]},
                  %labels: tensor<?x128xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x128x256xf32>, accuracy: tensor<f32>) {
  // The table of token embeddings is also the output head's weight.
  %wte = nn.param "wte.weight" init(normal(0.02)) dims("vocab", "model") : tensor<256x128xf32>
  %wpe = nn.param "wpe.weight" init(normal(0.02)) dims("sequence", "model") : tensor<128x128xf32>
  %te = nn.embedding %wte, %tokens : (tensor<256x128xf32>, tensor<?x128xi32>) -> tensor<?x128x128xf32>
  %e = nn.add %te, %wpe : (tensor<?x128x128xf32>, tensor<128x128xf32>) -> tensor<?x128x128xf32>
  %h = nn.repeat 4 @layer "h" (%e) : (tensor<?x128x128xf32>) -> tensor<?x128x128xf32>
  %g = nn.param "ln_f.weight" init(ones) dims("model") : tensor<128xf32>
  %n = nn.param "ln_f.bias" init(zeros) dims("model") : tensor<128xf32>
  %f = nn.layer_norm %h, %g, %n : (tensor<?x128x128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<?x128x128xf32>
  %logits = nn.linear %f, %wte {transpose_weight} : (tensor<?x128x128xf32>, tensor<256x128xf32>) -> tensor<?x128x256xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x128x256xf32>, tensor<?x128xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x128x256xf32>, tensor<?x128xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x128x256xf32>, tensor<f32>
}
