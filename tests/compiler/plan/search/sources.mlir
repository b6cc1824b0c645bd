// RUN: pdc %S/../../../../models/gpt_tiny.mlir --batch=16 --ranks=2 --parallel=data=2,zero=1 --to=plan > %t
// RUN: FileCheck %s --input-file=%t

// What has no operands, or is a view of a number, costs nothing in any layout. It is made in the layout of its uses: else each
// rank would make the whole batch's, and take its part of it.
// CHECK: nn.step "train"
// CHECK: nn.iota 2 {dist.layouts = [#dist.layout<{{\[}}["data"], [], []]>]} : tensor<16x128x256xf32>
// CHECK: nn.broadcast {{.*}} {dist.layouts = [#dist.layout<{{\[}}["data"], []]>]} : tensor<1x1xf32> to tensor<16x128xf32>
