// A BERT of two layers, width 64, without dropout: for tests.
nn.block @layer(%x: tensor<?x32x64xf32>) -> tensor<?x32x64xf32> {
  %wq = nn.param "attention.query.weight" init(truncated_normal(0.02)) dims("model", "heads") : tensor<64x64xf32>
  %bq = nn.param "attention.query.bias" init(zeros) dims("heads") : tensor<64xf32>
  %q = nn.linear %x, %wq, %bq : (tensor<?x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %qh = nn.reshape %q : tensor<?x32x64xf32> to tensor<?x32x4x16xf32>
  %wk = nn.param "attention.key.weight" init(truncated_normal(0.02)) dims("model", "heads") : tensor<64x64xf32>
  %bk = nn.param "attention.key.bias" init(zeros) dims("heads") : tensor<64xf32>
  %k = nn.linear %x, %wk, %bk : (tensor<?x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %kh = nn.reshape %k : tensor<?x32x64xf32> to tensor<?x32x4x16xf32>
  %wv = nn.param "attention.value.weight" init(truncated_normal(0.02)) dims("model", "heads") : tensor<64x64xf32>
  %bv = nn.param "attention.value.bias" init(zeros) dims("heads") : tensor<64xf32>
  %v = nn.linear %x, %wv, %bv : (tensor<?x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %vh = nn.reshape %v : tensor<?x32x64xf32> to tensor<?x32x4x16xf32>
  %ah = nn.attention %qh, %kh, %vh : (tensor<?x32x4x16xf32>, tensor<?x32x4x16xf32>, tensor<?x32x4x16xf32>) -> tensor<?x32x4x16xf32>
  %a = nn.reshape %ah : tensor<?x32x4x16xf32> to tensor<?x32x64xf32>
  %wo = nn.param "attention.output.weight" init(truncated_normal(0.02)) dims("heads", "model") : tensor<64x64xf32>
  %bo = nn.param "attention.output.bias" init(zeros) dims("model") : tensor<64xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %r1 = nn.add %x, %o : (tensor<?x32x64xf32>, tensor<?x32x64xf32>) -> tensor<?x32x64xf32>
  %g1 = nn.param "attention.norm.weight" init(ones) dims("model") : tensor<64xf32>
  %n1 = nn.param "attention.norm.bias" init(zeros) dims("model") : tensor<64xf32>
  %l1 = nn.layer_norm %r1, %g1, %n1 {epsilon = 1.0e-12 : f64} : (tensor<?x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %wi = nn.param "mlp.fc.weight" init(truncated_normal(0.02)) dims("model", "hidden") : tensor<64x256xf32>
  %bi = nn.param "mlp.fc.bias" init(zeros) dims("hidden") : tensor<256xf32>
  %i = nn.linear %l1, %wi, %bi : (tensor<?x32x64xf32>, tensor<64x256xf32>, tensor<256xf32>) -> tensor<?x32x256xf32>
  %act = nn.gelu %i : tensor<?x32x256xf32>
  %wm = nn.param "mlp.proj.weight" init(truncated_normal(0.02)) dims("hidden", "model") : tensor<256x64xf32>
  %bm = nn.param "mlp.proj.bias" init(zeros) dims("model") : tensor<64xf32>
  %m = nn.linear %act, %wm, %bm : (tensor<?x32x256xf32>, tensor<256x64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %r2 = nn.add %l1, %m : (tensor<?x32x64xf32>, tensor<?x32x64xf32>) -> tensor<?x32x64xf32>
  %g2 = nn.param "mlp.norm.weight" init(ones) dims("model") : tensor<64xf32>
  %n2 = nn.param "mlp.norm.bias" init(zeros) dims("model") : tensor<64xf32>
  %l2 = nn.layer_norm %r2, %g2, %n2 {epsilon = 1.0e-12 : f64} : (tensor<?x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  nn.return %l2 : tensor<?x32x64xf32>
}

// Labels hold the token to predict at masked positions and -100, which is ignored, elsewhere.
nn.model @bert_tiny(%tokens: tensor<?x32xi32> {nn.dims = ["batch", "sequence"]},
                   %segments: tensor<?x32xi32> {nn.dims = ["batch", "sequence"]},
                   %labels: tensor<?x32xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x32x128xf32>, accuracy: tensor<f32>) {
  %we = nn.param "embeddings.word.weight" init(truncated_normal(0.02)) dims("vocab", "model") : tensor<128x64xf32>
  %wp = nn.param "embeddings.position.weight" init(truncated_normal(0.02)) dims("sequence", "model") : tensor<32x64xf32>
  %ws = nn.param "embeddings.segment.weight" init(truncated_normal(0.02)) dims("segments", "model") : tensor<2x64xf32>
  %te = nn.embedding %we, %tokens : (tensor<128x64xf32>, tensor<?x32xi32>) -> tensor<?x32x64xf32>
  %se = nn.embedding %ws, %segments : (tensor<2x64xf32>, tensor<?x32xi32>) -> tensor<?x32x64xf32>
  %e0 = nn.add %te, %se : (tensor<?x32x64xf32>, tensor<?x32x64xf32>) -> tensor<?x32x64xf32>
  %e1 = nn.add %e0, %wp : (tensor<?x32x64xf32>, tensor<32x64xf32>) -> tensor<?x32x64xf32>
  %ge = nn.param "embeddings.norm.weight" init(ones) dims("model") : tensor<64xf32>
  %ne = nn.param "embeddings.norm.bias" init(zeros) dims("model") : tensor<64xf32>
  %e = nn.layer_norm %e1, %ge, %ne {epsilon = 1.0e-12 : f64} : (tensor<?x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %h = nn.repeat 2 @layer "layer" (%e) : (tensor<?x32x64xf32>) -> tensor<?x32x64xf32>

  // The masked-language-model head; its decoder is the table of word embeddings.
  %wt = nn.param "head.transform.weight" init(truncated_normal(0.02)) dims("model", "model") : tensor<64x64xf32>
  %bt = nn.param "head.transform.bias" init(zeros) dims("model") : tensor<64xf32>
  %t = nn.linear %h, %wt, %bt : (tensor<?x32x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %ta = nn.gelu %t : tensor<?x32x64xf32>
  %gt = nn.param "head.norm.weight" init(ones) dims("model") : tensor<64xf32>
  %nt = nn.param "head.norm.bias" init(zeros) dims("model") : tensor<64xf32>
  %tn = nn.layer_norm %ta, %gt, %nt {epsilon = 1.0e-12 : f64} : (tensor<?x32x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x32x64xf32>
  %bd = nn.param "head.bias" init(zeros) dims("vocab") : tensor<128xf32>
  %logits = nn.linear %tn, %we, %bd {transpose_weight} : (tensor<?x32x64xf32>, tensor<128x64xf32>, tensor<128xf32>) -> tensor<?x32x128xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x32x128xf32>, tensor<?x32xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x32x128xf32>, tensor<?x32xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x32x128xf32>, tensor<f32>
}
