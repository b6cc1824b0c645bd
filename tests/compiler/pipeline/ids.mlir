// Which integers an input may hold is known through slices, reshapes and casts of it, and all uses are met: the table has
// fewer rows than there are classes, and only labels can be left out.
// RUN: pdc %s --batch=2 --to=program | FileCheck %s

// CHECK-DAG: 2x5xi32 input tokens{{.*}} ids 0 to 9{{$}}
// CHECK-DAG: 2x4xi32 input others{{.*}} ids 0 to 15 or -1{{$}}
nn.model @sliced(%tokens: tensor<?x5xi32>, %others: tensor<?x4xi32>) -> (loss: tensor<f32>, other: tensor<f32>) {
  %table = nn.param "table" init(normal(0.02)) : tensor<10x8xf32>
  %w = nn.param "w" init(kaiming) : tensor<8x16xf32>
  %ids = nn.slice %tokens {offsets = array<i64: 0, 0>, sizes = array<i64: -1, 4>} : (tensor<?x5xi32>) -> tensor<?x4xi32>
  %next = nn.slice %tokens {offsets = array<i64: 0, 1>, sizes = array<i64: -1, 4>} : (tensor<?x5xi32>) -> tensor<?x4xi32>
  %e = nn.embedding %table, %ids : (tensor<10x8xf32>, tensor<?x4xi32>) -> tensor<?x4x8xf32>
  %logits = nn.linear %e, %w : (tensor<?x4x8xf32>, tensor<8x16xf32>) -> tensor<?x4x16xf32>
  %loss = nn.cross_entropy %logits, %next {ignore_index = -1} : (tensor<?x4x16xf32>, tensor<?x4xi32>) -> tensor<f32>
  %flat = nn.reshape %others : tensor<?x4xi32> to tensor<?xi32>
  %wide = nn.cast %flat : tensor<?xi32> to tensor<?xi64>
  %rows = nn.reshape %logits : tensor<?x4x16xf32> to tensor<?x16xf32>
  %other = nn.cross_entropy %rows, %wide {ignore_index = -1} : (tensor<?x16xf32>, tensor<?xi64>) -> tensor<f32>
  nn.return %loss, %other : tensor<f32>, tensor<f32>
}
