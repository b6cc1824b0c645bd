// RUN: pdc-opt %s -split-input-file -verify-diagnostics

// two axes of one name
// expected-error @below {{has two axes named "data"}}
dist.mesh @mesh axes(["data" = 2, "data" = 2])

// -----

// an axis of no ranks
// expected-error @below {{axis "data" has size 0, expected at least 1}}
dist.mesh @mesh axes(["data" = 0])

// -----

// an axis the mesh does not have
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{names axis "model", which mesh @mesh does not have}}
  %0 = dist.all_reduce sum over @mesh ["model"] (%x) : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// a mesh that does not exist
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{names the mesh @mesh, and there is no such dist.mesh}}
  %0 = dist.all_reduce sum over @mesh ["data"] (%x) : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// element types mixed in one message
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}, %y: tensor<4xbf16> {nn.role = "input", nn.name = "y"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{combines 'f32' and 'bf16' in one message}}
  %0:2 = dist.all_reduce sum over @mesh ["data"] (%x, %y) : tensor<4xf32>, tensor<4xbf16>
  nn.return %0#0 : tensor<4xf32>
}

// -----

// a gather that changes another dimension
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4x4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4x4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{changes dimension 1 from 4 to 5, which it does not work along}}
  %0 = dist.all_gather over @mesh ["data"] dim 0 (%x) : tensor<4x4xf32> to tensor<8x5xf32>
  nn.return %x : tensor<4x4xf32>
}

// -----

// an axis twice in a layout
// expected-error @below {{uses axis "data" twice}}
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[["data"]], sum = ["data"]>}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  nn.return %x : tensor<4xf32>
}

// -----

// a reshard that does not say to what
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{needs the layout of its result}}
  %0 = dist.reshard %x : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// a halo of other parts than the mesh has
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<5xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{has 3 parts, over axes that split into 2}}
  %0 = dist.halo_exchange over @mesh ["data"] dim 0 has [0, 4, 4, 8, 8, 12] needs [0, 5, 3, 9, 7, 12] (%x) : tensor<4xf32> to tensor<5xf32>
  nn.return %0 : tensor<5xf32>
}

// -----

// parts that do not follow each other
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<5xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{has part 0 from 0 to 4; parts must not be empty and follow each other}}
  %0 = dist.halo_exchange over @mesh ["data"] dim 0 has [0, 4, 5, 9] needs [0, 5, 3, 9] (%x) : tensor<4xf32> to tensor<5xf32>
  nn.return %0 : tensor<5xf32>
}

// -----

// a halo beyond the border
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<5xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{needs elements 3 to 9 of 8 for part 1}}
  %0 = dist.halo_exchange over @mesh ["data"] dim 0 has [0, 4, 4, 8] needs [0, 5, 3, 9] (%x) : tensor<4xf32> to tensor<5xf32>
  nn.return %0 : tensor<5xf32>
}

// -----

// a result that no part needs
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<6xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{which no part has and needs}}
  %0 = dist.halo_exchange over @mesh ["data"] dim 0 has [0, 4, 4, 8] needs [0, 5, 3, 8] (%x) : tensor<4xf32> to tensor<6xf32>
  nn.return %0 : tensor<6xf32>
}

// -----

// a mesh before the first rank
// expected-error @below {{begins at rank -1, expected 0 or more}}
dist.mesh @mesh axes(["data" = 2]) from -1

// -----

// fewer peers than ranks
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"})
    attributes {dist.ranks = array<i64: 0, 1>} {
  // expected-error @below {{has 1 peers, expected one for each of the step's 2 ranks}}
  dist.send to [2] tag 0 (%x) : tensor<4xf32>
  nn.return %x : tensor<4xf32>
}

// -----

// a peer that is no rank
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{has the peer -2, expected a rank}}
  dist.send to [-2] tag 0 (%x) : tensor<4xf32>
  nn.return %x : tensor<4xf32>
}

// -----

// a stage without a mesh
dist.mesh @mesh axes(["data" = 2])
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{names the mesh @next, and there is no such dist.mesh}}
  dist.stage_send from @mesh to @next tag 0 as <[[]]> (%x) : tensor<4xf32>
  nn.return %x : tensor<4xf32>
}

// -----

// a partial sum leaves its stage
dist.mesh @mesh axes(["data" = 2])
dist.mesh @next axes(["data" = 2]) from 2
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x", dist.layout = #dist.layout<[[]], sum = ["data"]>}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{moves a partial result}}
  dist.stage_send from @mesh to @next tag 0 as <[[]]> (%x) : tensor<4xf32>
  nn.return %x : tensor<4xf32>
}

// -----

// a tag that is none
nn.step "infer" @s() -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{has the tag -1, expected 0 or more}}
  %0 = dist.receive from [1] tag -1 : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// a barrier of nothing
nn.step "infer" @s() -> () {
  // expected-error @below {{has no operands}}
  "dist.optimization_barrier"() : () -> ()
  nn.return
}

// -----

// a barrier that changes a type
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<8xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "dist.optimization_barrier"(%x) : (tensor<4xf32>) -> tensor<8xf32>
  nn.return %0 : tensor<8xf32>
}

// -----

// a summand without a layout
nn.step "infer" @s(%x: tensor<4xf32> {nn.role = "input", nn.name = "x"}) -> (tensor<4xf32> {nn.role = "output", nn.name = "o"}) {
  // expected-error @below {{needs the layout of its result}}
  %0 = dist.summand %x : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}
