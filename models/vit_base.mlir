// ViT-B/16 (Dosovitskiy et al. 2021) for 224 x 224 images: 86,567,656 parameters.
nn.block @layer(%x: tensor<?x197x768xf32>) -> tensor<?x197x768xf32> {
  %g1 = nn.param "ln_1.weight" init(ones) dims("model") : tensor<768xf32>
  %n1 = nn.param "ln_1.bias" init(zeros) dims("model") : tensor<768xf32>
  %ln1 = nn.layer_norm %x, %g1, %n1 {epsilon = 1.0e-6 : f64} : (tensor<?x197x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x197x768xf32>
  %wqkv = nn.param "attn.qkv.weight" init(xavier) dims("model", "qkv") : tensor<768x2304xf32>
  %bqkv = nn.param "attn.qkv.bias" init(zeros) dims("qkv") : tensor<2304xf32>
  %qkv = nn.linear %ln1, %wqkv, %bqkv : (tensor<?x197x768xf32>, tensor<768x2304xf32>, tensor<2304xf32>) -> tensor<?x197x2304xf32>
  %q, %k, %v = nn.split %qkv {axis = 2 : i64, sizes = array<i64: 768, 768, 768>}
      : (tensor<?x197x2304xf32>) -> (tensor<?x197x768xf32>, tensor<?x197x768xf32>, tensor<?x197x768xf32>)
  %qh = nn.reshape %q : tensor<?x197x768xf32> to tensor<?x197x12x64xf32>
  %kh = nn.reshape %k : tensor<?x197x768xf32> to tensor<?x197x12x64xf32>
  %vh = nn.reshape %v : tensor<?x197x768xf32> to tensor<?x197x12x64xf32>
  %ah = nn.attention %qh, %kh, %vh : (tensor<?x197x12x64xf32>, tensor<?x197x12x64xf32>, tensor<?x197x12x64xf32>) -> tensor<?x197x12x64xf32>
  %a = nn.reshape %ah : tensor<?x197x12x64xf32> to tensor<?x197x768xf32>
  %wo = nn.param "attn.proj.weight" init(xavier) dims("model", "model") : tensor<768x768xf32>
  %bo = nn.param "attn.proj.bias" init(zeros) dims("model") : tensor<768xf32>
  %o = nn.linear %a, %wo, %bo : (tensor<?x197x768xf32>, tensor<768x768xf32>, tensor<768xf32>) -> tensor<?x197x768xf32>
  %r1 = nn.add %x, %o : (tensor<?x197x768xf32>, tensor<?x197x768xf32>) -> tensor<?x197x768xf32>
  %g2 = nn.param "ln_2.weight" init(ones) dims("model") : tensor<768xf32>
  %n2 = nn.param "ln_2.bias" init(zeros) dims("model") : tensor<768xf32>
  %ln2 = nn.layer_norm %r1, %g2, %n2 {epsilon = 1.0e-6 : f64} : (tensor<?x197x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x197x768xf32>
  %wfc = nn.param "mlp.fc.weight" init(xavier) dims("model", "hidden") : tensor<768x3072xf32>
  %bfc = nn.param "mlp.fc.bias" init(zeros) dims("hidden") : tensor<3072xf32>
  %f = nn.linear %ln2, %wfc, %bfc : (tensor<?x197x768xf32>, tensor<768x3072xf32>, tensor<3072xf32>) -> tensor<?x197x3072xf32>
  %gelu = nn.gelu %f : tensor<?x197x3072xf32>
  %wpr = nn.param "mlp.proj.weight" init(xavier) dims("hidden", "model") : tensor<3072x768xf32>
  %bpr = nn.param "mlp.proj.bias" init(zeros) dims("model") : tensor<768xf32>
  %m = nn.linear %gelu, %wpr, %bpr : (tensor<?x197x3072xf32>, tensor<3072x768xf32>, tensor<768xf32>) -> tensor<?x197x768xf32>
  %r2 = nn.add %r1, %m : (tensor<?x197x768xf32>, tensor<?x197x768xf32>) -> tensor<?x197x768xf32>
  nn.return %r2 : tensor<?x197x768xf32>
}

nn.model @vit_base(%image: tensor<?x3x224x224xf32> {nn.dims = ["batch", "channels", "height", "width"]},
                  %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x1000xf32>, accuracy: tensor<f32>) {
  // Patches of 16 x 16 pixels are a convolution's windows.
  %wp = nn.param "patch.weight" init(truncated_normal(0.02)) : tensor<768x3x16x16xf32>
  %bp = nn.param "patch.bias" init(zeros) : tensor<768xf32>
  %p = nn.conv2d %image, %wp, %bp {stride = array<i64: 16, 16>}
      : (tensor<?x3x224x224xf32>, tensor<768x3x16x16xf32>, tensor<768xf32>) -> tensor<?x768x14x14xf32>
  %pf = nn.reshape %p : tensor<?x768x14x14xf32> to tensor<?x768x196xf32>
  %pt = nn.transpose %pf {permutation = array<i64: 0, 2, 1>} : (tensor<?x768x196xf32>) -> tensor<?x196x768xf32>
  %cls = nn.param "class_token" init(zeros) dims("", "model") : tensor<1x768xf32>
  %cb = nn.broadcast %cls : tensor<1x768xf32> to tensor<?x1x768xf32>
  %seq = nn.concat %cb, %pt {axis = 1 : i64} : (tensor<?x1x768xf32>, tensor<?x196x768xf32>) -> tensor<?x197x768xf32>
  %wpe = nn.param "position.weight" init(truncated_normal(0.02)) dims("sequence", "model") : tensor<197x768xf32>
  %e = nn.add %seq, %wpe : (tensor<?x197x768xf32>, tensor<197x768xf32>) -> tensor<?x197x768xf32>
  %h = nn.repeat 12 @layer "h" (%e) : (tensor<?x197x768xf32>) -> tensor<?x197x768xf32>
  %g = nn.param "ln_f.weight" init(ones) dims("model") : tensor<768xf32>
  %n = nn.param "ln_f.bias" init(zeros) dims("model") : tensor<768xf32>
  %f = nn.layer_norm %h, %g, %n {epsilon = 1.0e-6 : f64} : (tensor<?x197x768xf32>, tensor<768xf32>, tensor<768xf32>) -> tensor<?x197x768xf32>
  %first = nn.slice %f {offsets = array<i64: 0, 0, 0>, sizes = array<i64: -1, 1, -1>} : (tensor<?x197x768xf32>) -> tensor<?x1x768xf32>
  %c = nn.reshape %first : tensor<?x1x768xf32> to tensor<?x768xf32>
  %wh = nn.param "head.weight" init(zeros) dims("model", "classes") : tensor<768x1000xf32>
  %bh = nn.param "head.bias" init(zeros) dims("classes") : tensor<1000xf32>
  %logits = nn.linear %c, %wh, %bh : (tensor<?x768xf32>, tensor<768x1000xf32>, tensor<1000xf32>) -> tensor<?x1000xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x1000xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x1000xf32>, tensor<f32>
}
