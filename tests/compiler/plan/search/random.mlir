// Random plans: a value is left partial only where its op can leave it so, in every step; these seeds led into a dead end.
// RUN: pdc %S/../../../../models/bert_tiny.mlir --batch=4 --ranks=4 --search=random:seed=11 --to=plan | FileCheck %s
// RUN: pdc %S/../../../../models/bert_tiny.mlir --batch=4 --ranks=4 --search=random:seed=15 --to=plan | FileCheck %s

// CHECK: nn.step "train"
// CHECK: dist.reshard
// CHECK: nn.step "gradient"
// CHECK: nn.step "infer"
