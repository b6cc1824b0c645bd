// RUN: pdc-opt --recompute %s -split-input-file -verify-diagnostics

// a word that is none
// expected-error @below {{has dist.recompute = ["all"], expected a list of 1 of the words "none", "full" and "selective", one for each stage}}
module attributes {dist.recompute = ["all"]} {}

// -----

// a word without a list
// expected-error @below {{has dist.recompute = "full", expected a list of 1}}
module attributes {dist.recompute = "full"} {}

// -----

// a number
// expected-error @below {{has dist.recompute = [1], expected a list of 1}}
module attributes {dist.recompute = [1]} {}

// -----

// fewer words than stages
// expected-error @below {{has dist.recompute = ["full"], expected a list of 2}}
module attributes {dist.recompute = ["full"]} {
  dist.mesh @mesh axes(["data" = 1])
  nn.step "infer" @infer() -> () attributes {dist.mesh = @mesh, dist.stage = 1} {
    nn.return
  }
}

// -----

// a step that is not planned
module attributes {dist.recompute = ["full"]} {
  // expected-error @below {{has no mesh}}
  nn.step "train" @train() -> () {
    nn.return
  }
}
