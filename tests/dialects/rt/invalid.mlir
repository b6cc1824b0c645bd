// RUN: pdc-opt %s -split-input-file -verify-diagnostics

// a mode that does not exist
// expected-error @below {{has mode "learn", expected train, gradient, evaluate, infer or reference_gradient}}
rt.program @p "learn" ranks [0] batch 4 local 4 starts [0] {
}

// -----

// a view that leaves its buffer
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  %x = rt.buffer activation private "x" : memref<8xf32>
  // expected-error @below {{reaches element 8 of a buffer of 8}}
  %v = rt.view %x : memref<8xf32> to memref<5xf32, strided<[1], offset: 4>>
}

// -----

// a collective on private memory
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  %x = rt.buffer gradient private "x" : memref<8xf32>
  // expected-error @below {{works on memory that is not in the shared segment}}
  %t = rt.collective_start "all_reduce" "x" sum %x groups [array<i64: 0>] : memref<8xf32>
  rt.collective_done %t
}

// -----

// a collective that nothing ends
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  %x = rt.buffer gradient shared "x" : memref<8xf32>
  // expected-error @below {{must be ended by exactly one rt.collective_done}}
  %t = rt.collective_start "all_reduce" "x" sum %x groups [array<i64: 0>] : memref<8xf32>
}

// -----

// a copy between sizes
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  %x = rt.buffer activation private "x" : memref<8xf32>
  %y = rt.buffer activation private "y" : memref<4xf32>
  // expected-error @below {{both must be dense, of one type and size}}
  rt.copy "c" %x to %y : memref<8xf32> to memref<4xf32>
}

// -----

// a declared shape of other elements than all ranks have together
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  // expected-error @below {{has the declared shape [4, 5], which has other elements than [4, 3, 2]}}
  %w = rt.buffer parameter private "w" {declared_shape = array<i64: 4, 5>, global_shape = array<i64: 4, 3, 2>} : memref<4x3x1xf32>
}

// -----

// a declared shape of what no checkpoint has
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  // expected-error @below {{has a declared shape, but is no parameter and no optimizer state}}
  %x = rt.buffer activation private "x" {declared_shape = array<i64: 8>} : memref<4x2xf32>
}

// -----

// a constant without contents
rt.program @p "train" ranks [0] batch 4 local 4 starts [0] {
  // expected-error @below {{a constant, and nothing else, has a value}}
  %x = rt.buffer constant private "x" : memref<8xf32>
}

// -----

// a message to itself
rt.program @p "train" ranks [0, 1] batch 4 local 4 starts [0, 0] {
  %x = rt.buffer activation private "x" : memref<8xf32>
  // expected-error @below {{has the peer 1 for rank 1}}
  %s = rt.send_start "x" %x peers [1, 1] : memref<8xf32>
  rt.collective_done %s
}

// -----

// a message that lacks a peer
rt.program @p "train" ranks [0, 1] batch 4 local 4 starts [0, 0] {
  %x = rt.buffer activation private "x" : memref<8xf32>
  // expected-error @below {{has 1 peers for 2 ranks}}
  %s = rt.receive_start "x" %x peers [1] : memref<8xf32>
  rt.collective_done %s
}
