// A small mixture of experts on bytes: 2 layers, width 64, 4 heads, 64 bytes of context; each layer's perceptron is 4
// experts of width 128, of which a byte is sent to 2. A sample is a group: of its 2 x 64 choices, an expert takes 40
// (1.25 times an even share), and drops the rest. The loss has 0.01 times the load balancing loss of each layer.
nn.block @layer(%x: tensor<?x64x64xf32>) -> (tensor<?x64x64xf32>, tensor<f32>) {
  // Attention, on the normalized input.
  %g1 = nn.param "ln_1.weight" init(ones) dims("model") : tensor<64xf32>
  %n1 = nn.param "ln_1.bias" init(zeros) dims("model") : tensor<64xf32>
  %ln1 = nn.layer_norm %x, %g1, %n1 : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x64xf32>
  %wqkv = nn.param "attn.qkv.weight" init(normal(0.02)) dims("model", "qkv") : tensor<64x192xf32>
  %bqkv = nn.param "attn.qkv.bias" init(zeros) dims("qkv") : tensor<192xf32>
  %qkv = nn.linear %ln1, %wqkv, %bqkv
      : (tensor<?x64x64xf32>, tensor<64x192xf32>, tensor<192xf32>) -> tensor<?x64x192xf32>
  %q, %k, %v = nn.split %qkv {axis = 2 : i64, sizes = array<i64: 64, 64, 64>}
      : (tensor<?x64x192xf32>) -> (tensor<?x64x64xf32>, tensor<?x64x64xf32>, tensor<?x64x64xf32>)
  %qh = nn.reshape %q : tensor<?x64x64xf32> to tensor<?x64x4x16xf32>
  %kh = nn.reshape %k : tensor<?x64x64xf32> to tensor<?x64x4x16xf32>
  %vh = nn.reshape %v : tensor<?x64x64xf32> to tensor<?x64x4x16xf32>
  %ah = nn.attention %qh, %kh, %vh {causal} : (tensor<?x64x4x16xf32>, tensor<?x64x4x16xf32>, tensor<?x64x4x16xf32>) -> tensor<?x64x4x16xf32>
  %a = nn.reshape %ah : tensor<?x64x4x16xf32> to tensor<?x64x64xf32>
  %wo = nn.param "attn.proj.weight" init(normal(0.01)) dims("model", "model") : tensor<64x64xf32>
  %bo = nn.param "attn.proj.bias" init(zeros) dims("model") : tensor<64xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x64x64xf32>, tensor<64x64xf32>, tensor<64xf32>) -> tensor<?x64x64xf32>
  %r1 = nn.add %x, %o : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>

  // Which experts get which token: the two with the largest gates, whose gates are scaled to sum to one.
  %g2 = nn.param "ln_2.weight" init(ones) dims("model") : tensor<64xf32>
  %n2 = nn.param "ln_2.bias" init(zeros) dims("model") : tensor<64xf32>
  %ln2 = nn.layer_norm %r1, %g2, %n2 : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x64xf32>
  %wr = nn.param "moe.router.weight" init(normal(0.1)) dims("model", "experts") : tensor<64x4xf32>
  %scores = nn.linear %ln2, %wr : (tensor<?x64x64xf32>, tensor<64x4xf32>) -> tensor<?x64x4xf32>
  %gates = nn.softmax %scores : (tensor<?x64x4xf32>) -> tensor<?x64x4xf32>
  %top, %experts = nn.top_k %gates {k = 2 : i64} : (tensor<?x64x4xf32>) -> (tensor<?x64x2xf32>, tensor<?x64x2xi32>)
  %sum = nn.reduce_sum %top {axes = array<i64: 2>, keep_dims} : (tensor<?x64x2xf32>) -> tensor<?x64x1xf32>
  %weights = nn.div %top, %sum : (tensor<?x64x2xf32>, tensor<?x64x1xf32>) -> tensor<?x64x2xf32>
  %balance = nn.load_balancing_loss %gates, %experts : (tensor<?x64x4xf32>, tensor<?x64x2xi32>) -> tensor<f32>

  // Tokens to the experts: [samples, experts * capacity, model] -> [experts, samples * capacity, model].
  %slots = nn.expert_slots %experts {experts = 4 : i64, capacity = 40 : i64} : (tensor<?x64x2xi32>) -> tensor<?x64x2xi32>
  %sent = nn.dispatch %ln2 to %slots {count = 160 : i64} : (tensor<?x64x64xf32>, tensor<?x64x2xi32>) -> tensor<?x160x64xf32>
  %by_sample = nn.reshape %sent : tensor<?x160x64xf32> to tensor<?x4x40x64xf32>
  %by_expert = nn.transpose %by_sample {permutation = array<i64: 1, 0, 2, 3>} : (tensor<?x4x40x64xf32>) -> tensor<4x?x40x64xf32>
  %in = nn.reshape %by_expert : tensor<4x?x40x64xf32> to tensor<4x?x64xf32>

  // Each expert's perceptron.
  %w1 = nn.param "moe.fc.weight" init(normal(0.02)) dims("experts", "model", "hidden") : tensor<4x64x128xf32>
  %b1 = nn.param "moe.fc.bias" init(zeros) dims("experts", "one", "hidden") : tensor<4x1x128xf32>
  %f0 = nn.batch_matmul %in, %w1 : (tensor<4x?x64xf32>, tensor<4x64x128xf32>) -> tensor<4x?x128xf32>
  %f = nn.add %f0, %b1 : (tensor<4x?x128xf32>, tensor<4x1x128xf32>) -> tensor<4x?x128xf32>
  %h = nn.gelu %f {tanh} : tensor<4x?x128xf32>
  %w2 = nn.param "moe.proj.weight" init(normal(0.01)) dims("experts", "hidden", "model") : tensor<4x128x64xf32>
  %b2 = nn.param "moe.proj.bias" init(zeros) dims("experts", "one", "model") : tensor<4x1x64xf32>
  %m0 = nn.batch_matmul %h, %w2 : (tensor<4x?x128xf32>, tensor<4x128x64xf32>) -> tensor<4x?x64xf32>
  %m = nn.add %m0, %b2 : (tensor<4x?x64xf32>, tensor<4x1x64xf32>) -> tensor<4x?x64xf32>

  // And back.
  %out = nn.reshape %m : tensor<4x?x64xf32> to tensor<4x?x40x64xf32>
  %back = nn.transpose %out {permutation = array<i64: 1, 0, 2, 3>} : (tensor<4x?x40x64xf32>) -> tensor<?x4x40x64xf32>
  %received = nn.reshape %back : tensor<?x4x40x64xf32> to tensor<?x160x64xf32>
  %y = nn.combine %received, %slots, %weights : (tensor<?x160x64xf32>, tensor<?x64x2xi32>, tensor<?x64x2xf32>) -> tensor<?x64x64xf32>
  %r2 = nn.add %r1, %y : (tensor<?x64x64xf32>, tensor<?x64x64xf32>) -> tensor<?x64x64xf32>
  nn.return %r2, %balance : tensor<?x64x64xf32>, tensor<f32>
}

nn.model @moe_tiny(%tokens: tensor<?x64xi32> {nn.dims = ["batch", "sequence"]},
                   %labels: tensor<?x64xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x64x256xf32>, accuracy: tensor<f32>) {
  // The table of token embeddings is also the output head's weight.
  %wte = nn.param "wte.weight" init(normal(0.02)) dims("vocab", "model") : tensor<256x64xf32>
  %wpe = nn.param "wpe.weight" init(normal(0.02)) dims("sequence", "model") : tensor<64x64xf32>
  %te = nn.embedding %wte, %tokens : (tensor<256x64xf32>, tensor<?x64xi32>) -> tensor<?x64x64xf32>
  %e = nn.add %te, %wpe : (tensor<?x64x64xf32>, tensor<64x64xf32>) -> tensor<?x64x64xf32>
  %h0, %balance0 = nn.call @layer "h0." (%e) : (tensor<?x64x64xf32>) -> (tensor<?x64x64xf32>, tensor<f32>)
  %h1, %balance1 = nn.call @layer "h1." (%h0) : (tensor<?x64x64xf32>) -> (tensor<?x64x64xf32>, tensor<f32>)
  %g = nn.param "ln_f.weight" init(ones) dims("model") : tensor<64xf32>
  %n = nn.param "ln_f.bias" init(zeros) dims("model") : tensor<64xf32>
  %f = nn.layer_norm %h1, %g, %n : (tensor<?x64x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x64xf32>
  %logits = nn.linear %f, %wte {transpose_weight} : (tensor<?x64x64xf32>, tensor<256x64xf32>) -> tensor<?x64x256xf32>
  %task = nn.cross_entropy %logits, %labels : (tensor<?x64x256xf32>, tensor<?x64xi32>) -> tensor<f32>
  %balance = nn.add %balance0, %balance1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %scale = nn.constant dense<0.01> : tensor<f32>
  %weighted = nn.mul %balance, %scale : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %loss = nn.add %task, %weighted : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x64x256xf32>, tensor<?x64xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x64x256xf32>, tensor<f32>
}
