// RUN: pdc-opt %s -expose-bias | FileCheck %s
// RUN: pdc-opt %s -expose-bias -fold-bias | FileCheck %s --check-prefix=BACK

// CHECK-LABEL: nn.step "infer" @linear
// CHECK: %[[Y:.*]] = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: %[[Z:.*]] = nn.add %[[Y]], %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: nn.return %[[Z]]
// BACK-LABEL: nn.step "infer" @linear
// BACK-NEXT: %[[Y:.*]] = nn.linear %x, %w, %b
// BACK-NEXT: nn.return %[[Y]]
nn.step "infer" @linear(%x: tensor<4x8xf32> {nn.role = "input", nn.name = "x"},
                        %w: tensor<8x2xf32> {nn.role = "parameter", nn.name = "w"},
                        %b: tensor<2xf32> {nn.role = "parameter", nn.name = "b"})
    -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  nn.return %0 : tensor<4x2xf32>
}

// CHECK-LABEL: nn.step "infer" @several_dimensions
// CHECK: %[[Y:.*]] = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x3x2xf32>) -> tensor<4x3x2xf32>
// CHECK-NEXT: %[[Z:.*]] = nn.add %[[Y]], %b : (tensor<4x3x2xf32>, tensor<3x2xf32>) -> tensor<4x3x2xf32>
// CHECK-NEXT: nn.return %[[Z]]
// BACK-LABEL: nn.step "infer" @several_dimensions
// BACK-NEXT: %[[Y:.*]] = nn.linear %x, %w, %b
// BACK-NEXT: nn.return %[[Y]]
nn.step "infer" @several_dimensions(%x: tensor<4x8xf32> {nn.role = "input", nn.name = "x"},
                                    %w: tensor<8x3x2xf32> {nn.role = "parameter", nn.name = "w"},
                                    %b: tensor<3x2xf32> {nn.role = "parameter", nn.name = "b"})
    -> (tensor<4x3x2xf32> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.linear %x, %w, %b : (tensor<4x8xf32>, tensor<8x3x2xf32>, tensor<3x2xf32>) -> tensor<4x3x2xf32>
  nn.return %0 : tensor<4x3x2xf32>
}

// What is added has fewer dimensions than the bias would have.
// BACK-LABEL: nn.step "infer" @no_bias
// BACK: nn.linear %x, %w :
// BACK-NEXT: nn.add
nn.step "infer" @no_bias(%x: tensor<4x8xf32> {nn.role = "input", nn.name = "x"},
                         %w: tensor<8x3x2xf32> {nn.role = "parameter", nn.name = "w"},
                         %b: tensor<2xf32> {nn.role = "parameter", nn.name = "b"})
    -> (tensor<4x3x2xf32> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x3x2xf32>) -> tensor<4x3x2xf32>
  %1 = nn.add %0, %b : (tensor<4x3x2xf32>, tensor<2xf32>) -> tensor<4x3x2xf32>
  nn.return %1 : tensor<4x3x2xf32>
}

// CHECK-LABEL: nn.step "infer" @convolution
// CHECK: %[[Y:.*]] = nn.conv2d %x, %w
// CHECK-NEXT: %[[B:.*]] = nn.reshape %b : tensor<6xf32> to tensor<6x1x1xf32>
// CHECK-NEXT: %[[Z:.*]] = nn.add %[[Y]], %[[B]]
// BACK-LABEL: nn.step "infer" @convolution
// BACK-NEXT: %[[Y:.*]] = nn.conv2d %x, %w, %b
// BACK-NEXT: nn.return %[[Y]]
nn.step "infer" @convolution(%x: tensor<2x3x8x8xf32> {nn.role = "input", nn.name = "x"},
                             %w: tensor<6x3x3x3xf32> {nn.role = "parameter", nn.name = "w"},
                             %b: tensor<6xf32> {nn.role = "parameter", nn.name = "b"})
    -> (tensor<2x6x6x6xf32> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.conv2d %x, %w, %b : (tensor<2x3x8x8xf32>, tensor<6x3x3x3xf32>, tensor<6xf32>) -> tensor<2x6x6x6xf32>
  nn.return %0 : tensor<2x6x6x6xf32>
}

// A product that is used without its bias, too, keeps it apart.
// BACK-LABEL: nn.step "infer" @shared
// BACK: nn.linear %x, %w :
// BACK-NEXT: nn.add
nn.step "infer" @shared(%x: tensor<4x8xf32> {nn.role = "input", nn.name = "x"},
                        %w: tensor<8x2xf32> {nn.role = "parameter", nn.name = "w"},
                        %b: tensor<2xf32> {nn.role = "parameter", nn.name = "b"})
    -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y"}, tensor<4x2xf32> {nn.role = "output", nn.name = "z"}) {
  %0 = nn.linear %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %1 = nn.add %0, %b : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
  nn.return %0, %1 : tensor<4x2xf32>, tensor<4x2xf32>
}
