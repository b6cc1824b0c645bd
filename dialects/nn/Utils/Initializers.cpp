//===- Initializers.cpp - initializers without fans -----------------------===//

#include "dialects/nn/Utils/Initializers.h"
#include "dialects/nn/IR/Distribution.h"

using namespace mlir;
using namespace pdc::nn;

InitializerAttr pdc::nn::getInitializer(MLIRContext *context, const Distribution &distribution) {
  auto get = [&](StringRef kind, ArrayRef<double> values) {
    return InitializerAttr::get(context, kind, DenseF64ArrayAttr::get(context, values));
  };
  switch (distribution.kind) {
  case Distribution::Kind::Zeros:
    return get("zeros", {});
  case Distribution::Kind::Ones:
    return get("ones", {});
  case Distribution::Kind::Constant:
    return get("constant", {distribution.a});
  case Distribution::Kind::Normal:
    return get("normal", {distribution.a, distribution.b});
  case Distribution::Kind::Uniform:
    return get("uniform", {distribution.a, distribution.b});
  case Distribution::Kind::TruncatedNormal:
    break;
  }
  return get("truncated_normal", {distribution.a, distribution.b});
}

InitializerAttr pdc::nn::resolveInitializer(InitializerAttr init, ArrayRef<int64_t> shape) {
  FailureOr<Distribution> distribution = init.resolve(shape, {});
  assert(succeeded(distribution) && "verifiers of nn.param and nn.state refuse initializers without fans");
  return getInitializer(init.getContext(), *distribution);
}
