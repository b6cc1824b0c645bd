// A perceptron with two hidden layers for MNIST-shaped images, flattened.
nn.model @mlp(%x: tensor<?x784xf32> {nn.dims = ["batch", "in"]}, %label: tensor<?xi32> {nn.dims = ["batch"]})
    -> (loss: tensor<f32>, logits: tensor<?x10xf32>, accuracy: tensor<f32>) {
  %w1 = nn.param "fc1.weight" init(kaiming) dims("in", "hidden1") : tensor<784x512xf32>
  %b1 = nn.param "fc1.bias" init(zeros) dims("hidden1") : tensor<512xf32>
  %h1 = nn.linear %x, %w1, %b1 : (tensor<?x784xf32>, tensor<784x512xf32>, tensor<512xf32>) -> tensor<?x512xf32>
  %a1 = nn.relu %h1 : tensor<?x512xf32>
  %w2 = nn.param "fc2.weight" init(kaiming) dims("hidden1", "hidden2") : tensor<512x256xf32>
  %b2 = nn.param "fc2.bias" init(zeros) dims("hidden2") : tensor<256xf32>
  %h2 = nn.linear %a1, %w2, %b2 : (tensor<?x512xf32>, tensor<512x256xf32>, tensor<256xf32>) -> tensor<?x256xf32>
  %a2 = nn.relu %h2 : tensor<?x256xf32>
  %w3 = nn.param "fc3.weight" init(kaiming) dims("hidden2", "classes") : tensor<256x10xf32>
  %b3 = nn.param "fc3.bias" init(zeros) dims("classes") : tensor<10xf32>
  %logits = nn.linear %a2, %w3, %b3 : (tensor<?x256xf32>, tensor<256x10xf32>, tensor<10xf32>) -> tensor<?x10xf32>
  %loss = nn.cross_entropy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  %accuracy = nn.accuracy %logits, %label : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  nn.return %loss, %logits, %accuracy : tensor<f32>, tensor<?x10xf32>, tensor<f32>
}
