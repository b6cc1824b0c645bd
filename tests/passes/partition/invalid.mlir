// RUN: pdc-opt %s -split-input-file -verify-diagnostics -partition

// no mesh
// expected-error @below {{has no mesh: expected the attribute dist.mesh to name a dist.mesh}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "y"}) {
  nn.return %x : tensor<4xf32>
}

// -----

// a partial result that is used as it is
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<2xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh} {
  %0 = nn.reduce_sum %x {axes = array<i64: 0>, dist.layouts = [#dist.layout<[[]], sum = ["data"]>]} : (tensor<4x2xf32>) -> tensor<2xf32>
  // expected-error @below {{operand 0 is a partial result}}
  %1 = nn.relu %0 : tensor<2xf32>
  nn.return %1 : tensor<2xf32>
}

// -----

// a result that is laid out in another way than its operands ask for
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>})
    -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh} {
  // expected-error @below {{result 0 has layout}}
  %0 = nn.relu %x : tensor<4x2xf32>
  nn.return %0 : tensor<4x2xf32>
}

// -----

// a value that becomes a partial result by being moved
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "parameter", nn.name = "x"})
    -> (tensor<4xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh} {
  // expected-error @below {{a value becomes a partial result only by an op, never by moving it}}
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<[[]], sum = ["data"]>]} : tensor<4xf32>
  %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[[]]>]} : tensor<4xf32>
  nn.return %1 : tensor<4xf32>
}

// -----

// a sum of a partial result and of a whole one
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"], []]>},
                   %w: tensor<2xf32> {nn.role = "parameter", nn.name = "w"})
    -> (tensor<2xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh} {
  %0 = nn.reduce_sum %x {axes = array<i64: 0>, dist.layouts = [#dist.layout<[[]], sum = ["data"]>]} : (tensor<4x2xf32>) -> tensor<2xf32>
  // expected-error @below {{in which it is not linear; reshard it before it is used}}
  %1 = nn.add %0, %w {dist.layouts = [#dist.layout<[[]], sum = ["data"]>]} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  nn.return %1 : tensor<2xf32>
}

// -----

// an op that is split by its parts, with a result as if it were whole
dist.mesh @mesh axes(["tensor" = 2])
nn.step "infer" @s(%x: tensor<4x6xf32> {nn.role = "parameter", nn.name = "x", dist.layout = #dist.layout<[[], ["tensor"]]>})
    -> (tensor<4x6xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[[], []]>}) attributes {dist.mesh = @mesh} {
  // expected-error @below {{result 0 has layout #dist.layout<[[], []]>, but a split by its parts gives #dist.layout<[[], ["tensor"]]>}}
  %0 = nn.softmax %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  nn.return %0 : tensor<4x6xf32>
}

// -----

// a barrier that changes a layout
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @infer(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y", dist.layout = #dist.layout<[["data"], []]>})
    attributes {dist.mesh = @mesh} {
  // expected-error @below {{gives a value of layout #dist.layout<[[], []]> the layout #dist.layout<[["data"], []]>; it changes nothing}}
  %0 = dist.optimization_barrier %x {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<4x2xf32>
  nn.return %0 : tensor<4x2xf32>
}

// -----

// a summand that also changes how the value is split
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4x2xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<4x2xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh} {
  // expected-error @below {{expected the same with more axes to sum over}}
  %0 = dist.summand %x {dist.layouts = [#dist.layout<[["data"], []]>]} : tensor<4x2xf32>
  %1 = dist.reshard %0 {dist.layouts = [#dist.layout<[[], []]>]} : tensor<4x2xf32>
  nn.return %1 : tensor<4x2xf32>
}

// -----

// a replica of other ranks
dist.mesh @mesh axes(["data" = 2])
dist.mesh @other axes(["data" = 1]) from 2
// expected-error @below {{is that of the replica @other, which is no mesh of ranks of its mesh @mesh}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"})
    -> (tensor<4xf32> {nn.role = "output", nn.name = "y"}) attributes {dist.mesh = @mesh, dist.replica = @other} {
  nn.return %x : tensor<4xf32>
}
