// BERT base (Devlin et al. 2019) with its masked-language-model head, 512 tokens.
nn.block @layer(%x: tensor<?x512x768xf32>) -> tensor<?x512x768xf32> {
  %wq = nn.param "attention.query.weight" init(truncated_normal(0.02)) dims("model", "heads") : tensor<768x768xf32>
  %bq = nn.param "attention.query.bias" init(zeros) dims("heads") : tensor<768xf32>
  %q = nn.linear %x, %wq, %bq : (tensor<?x512x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %qh = nn.reshape %q : tensor<?x512x768xf32> to tensor<?x512x12x64xf32>
  %wk = nn.param "attention.key.weight" init(truncated_normal(0.02)) dims("model", "heads") : tensor<768x768xf32>
  %bk = nn.param "attention.key.bias" init(zeros) dims("heads") : tensor<768xf32>
  %k = nn.linear %x, %wk, %bk : (tensor<?x512x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %kh = nn.reshape %k : tensor<?x512x768xf32> to tensor<?x512x12x64xf32>
  %wv = nn.param "attention.value.weight" init(truncated_normal(0.02)) dims("model", "heads") : tensor<768x768xf32>
  %bv = nn.param "attention.value.bias" init(zeros) dims("heads") : tensor<768xf32>
  %v = nn.linear %x, %wv, %bv : (tensor<?x512x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %vh = nn.reshape %v : tensor<?x512x768xf32> to tensor<?x512x12x64xf32>
  %ah = nn.attention %qh, %kh, %vh : (tensor<?x512x12x64xf32>, tensor<?x512x12x64xf32>, tensor<?x512x12x64xf32>) -> tensor<?x512x12x64xf32>
  %a = nn.reshape %ah : tensor<?x512x12x64xf32> to tensor<?x512x768xf32>
  %wo = nn.param "attention.output.weight" init(truncated_normal(0.02)) dims("heads", "model") : tensor<768x768xf32>
  %bo = nn.param "attention.output.bias" init(zeros) dims("model") : tensor<768xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x512x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %od = nn.dropout %o {rate = 0.1} : (tensor<?x512x768xf32>) -> tensor<?x512x768xf32>
  %r1 = nn.add %x, %od : (tensor<?x512x768xf32>, tensor<?x512x768xf32>) -> tensor<?x512x768xf32>
  %g1 = nn.param "attention.norm.weight" init(ones) dims("model") : tensor<768xf32>
  %n1 = nn.param "attention.norm.bias" init(zeros) dims("model") : tensor<768xf32>
  %l1 = nn.layer_norm %r1, %g1, %n1 {epsilon = 1.0e-12 : f64} : (tensor<?x512x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %wi = nn.param "mlp.fc.weight" init(truncated_normal(0.02)) dims("model", "hidden") : tensor<768x3072xf32>
  %bi = nn.param "mlp.fc.bias" init(zeros) dims("hidden") : tensor<3072xf32>
  %i = nn.linear %l1, %wi, %bi : (tensor<?x512x768xf32>, tensor<768x3072xf32>, tensor<3072xf32>) -> tensor<?x512x3072xf32>
  %act = nn.gelu %i : tensor<?x512x3072xf32>
  %wm = nn.param "mlp.proj.weight" init(truncated_normal(0.02)) dims("hidden", "model") : tensor<3072x768xf32>
  %bm = nn.param "mlp.proj.bias" init(zeros) dims("model") : tensor<768xf32>
  %m = nn.linear %act, %wm, %bm : (tensor<?x512x3072xf32>, tensor<3072x768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %md = nn.dropout %m {rate = 0.1} : (tensor<?x512x768xf32>) -> tensor<?x512x768xf32>
  %r2 = nn.add %l1, %md : (tensor<?x512x768xf32>, tensor<?x512x768xf32>) -> tensor<?x512x768xf32>
  %g2 = nn.param "mlp.norm.weight" init(ones) dims("model") : tensor<768xf32>
  %n2 = nn.param "mlp.norm.bias" init(zeros) dims("model") : tensor<768xf32>
  %l2 = nn.layer_norm %r2, %g2, %n2 {epsilon = 1.0e-12 : f64} : (tensor<?x512x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  nn.return %l2 : tensor<?x512x768xf32>
}

// Labels hold the token to predict at masked positions and -100, which is ignored, elsewhere.
nn.model @bert_base(%tokens: tensor<?x512xi32> {nn.dims = ["batch", "sequence"]},
                   %segments: tensor<?x512xi32> {nn.dims = ["batch", "sequence"]},
                   %labels: tensor<?x512xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x512x30522xf32>, accuracy: tensor<f32>) {
  %we = nn.param "embeddings.word.weight" init(truncated_normal(0.02)) dims("vocab", "model") : tensor<30522x768xf32>
  %wp = nn.param "embeddings.position.weight" init(truncated_normal(0.02)) dims("sequence", "model") : tensor<512x768xf32>
  %ws = nn.param "embeddings.segment.weight" init(truncated_normal(0.02)) dims("segments", "model") : tensor<2x768xf32>
  %te = nn.embedding %we, %tokens : (tensor<30522x768xf32>, tensor<?x512xi32>) -> tensor<?x512x768xf32>
  %se = nn.embedding %ws, %segments : (tensor<2x768xf32>, tensor<?x512xi32>) -> tensor<?x512x768xf32>
  %e0 = nn.add %te, %se : (tensor<?x512x768xf32>, tensor<?x512x768xf32>) -> tensor<?x512x768xf32>
  %e1 = nn.add %e0, %wp : (tensor<?x512x768xf32>, tensor<512x768xf32>) -> tensor<?x512x768xf32>
  %ge = nn.param "embeddings.norm.weight" init(ones) dims("model") : tensor<768xf32>
  %ne = nn.param "embeddings.norm.bias" init(zeros) dims("model") : tensor<768xf32>
  %e = nn.layer_norm %e1, %ge, %ne {epsilon = 1.0e-12 : f64} : (tensor<?x512x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %ed = nn.dropout %e {rate = 0.1} : (tensor<?x512x768xf32>) -> tensor<?x512x768xf32>
  %h = nn.repeat 12 @layer "layer" (%ed) : (tensor<?x512x768xf32>) -> tensor<?x512x768xf32>

  // The masked-language-model head; its decoder is the table of word embeddings.
  %wt = nn.param "head.transform.weight" init(truncated_normal(0.02)) dims("model", "model") : tensor<768x768xf32>
  %bt = nn.param "head.transform.bias" init(zeros) dims("model") : tensor<768xf32>
  %t = nn.linear %h, %wt, %bt : (tensor<?x512x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %ta = nn.gelu %t : tensor<?x512x768xf32>
  %gt = nn.param "head.norm.weight" init(ones) dims("model") : tensor<768xf32>
  %nt = nn.param "head.norm.bias" init(zeros) dims("model") : tensor<768xf32>
  %tn = nn.layer_norm %ta, %gt, %nt {epsilon = 1.0e-12 : f64} : (tensor<?x512x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x512x768xf32>
  %bd = nn.param "head.bias" init(zeros) dims("vocab") : tensor<30522xf32>
  %logits = nn.linear %tn, %we, %bd {transpose_weight} : (tensor<?x512x768xf32>, tensor<30522x768xf32>, tensor<30522xf32>) -> tensor<?x512x30522xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x512x30522xf32>, tensor<?x512xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x512x30522xf32>, tensor<?x512xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x512x30522xf32>, tensor<f32>
}
