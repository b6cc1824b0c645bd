// With slow links, VGG-16 is split as "One weird trick" does AlexNet (Krizhevsky 2014): convolutions, which have little to
// learn and much to compute, by samples; fully-connected layers, which have most of the parameters, by these.
// RUN: pdc %S/../../../../models/vgg16.mlir --batch=64 --ranks=8 --cluster=ethernet_25g --to=plan | FileCheck %s

// CHECK: nn.step "train" @train(
// CHECK-SAME: %conv13.weight: tensor<512x512x3x3xf32> {dist.layout = #dist.layout<{{\[\[\], \[\], \[\], \[\]\]}}>
// CHECK-SAME: %fc1.weight: tensor<25088x4096xf32> {dist.layout = #dist.layout<{{\[\["data"\], \[\]\]}}>
// CHECK-SAME: %fc2.weight: tensor<4096x4096xf32> {dist.layout = #dist.layout<{{\[\["data"\], \[\]\]}}>
// CHECK-SAME: %fc3.weight: tensor<4096x1000xf32> {dist.layout = #dist.layout<{{\[\["data"\], \[\]\]}}>
// CHECK-COUNT-13: nn.conv2d {{.*}}#dist.layout<{{\[\["data"\], \[\], \[\], \[\]\]}}>
// CHECK: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\]\]}}, sum = ["data"]>
// CHECK: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\]\]}}, sum = ["data"]>
// CHECK: nn.linear {{.*}}#dist.layout<{{\[\[\], \[\]\]}}, sum = ["data"]>
// Gradients of filters are summed over all samples; those of the matrices stay where they are made.
// CHECK-COUNT-13: nn.conv2d_grad_weight {{.*}}sum = ["data"]
// CHECK: nn.step "gradient"
