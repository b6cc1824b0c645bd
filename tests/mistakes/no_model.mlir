// A file without a model.
// RUN: not pdc %s -o %t --batch=4 2>&1 | FileCheck %s
// CHECK: no_model.mlir:1:1: error: expected one nn.model in the module, found 0
// CHECK-NOT: error:
// nothing
