// A tiny language model on bytes: the next byte from the present one and its place, with dropout.
nn.model @bytes(%tokens: tensor<?x16xi32> {nn.dims = ["batch", "sequence"]},
                %labels: tensor<?x16xi32> {nn.dims = ["batch", "sequence"]})
    -> (loss: tensor<f32>, logits: tensor<?x16x256xf32>, accuracy: tensor<f32>) {
  %table = nn.param "table.weight" init(normal(0.02)) dims("vocab", "model") : tensor<256x16xf32>
  %place = nn.param "place.weight" init(normal(0.02)) dims("sequence", "model") : tensor<16x16xf32>
  %t = nn.embedding %table, %tokens : (tensor<256x16xf32>, tensor<?x16xi32>) -> tensor<?x16x16xf32>
  %e = nn.add %t, %place : (tensor<?x16x16xf32>, tensor<16x16xf32>) -> tensor<?x16x16xf32>
  %d = nn.dropout %e {rate = 0.1} : (tensor<?x16x16xf32>) -> tensor<?x16x16xf32>
  %w = nn.param "head.weight" init(kaiming) dims("model", "vocab") : tensor<16x256xf32>
  %b = nn.param "head.bias" init(zeros) dims("vocab") : tensor<256xf32>
  %logits = nn.linear %d, %w, %b : (tensor<?x16x16xf32>, tensor<16x256xf32>, tensor<256xf32>) -> tensor<?x16x256xf32>
  %loss = nn.cross_entropy %logits, %labels : (tensor<?x16x256xf32>, tensor<?x16xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %labels : (tensor<?x16x256xf32>, tensor<?x16xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x16x256xf32>, tensor<f32>
}
