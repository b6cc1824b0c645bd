//===- Labels.cpp - the names by which a person knows ops -----------------===//

#include "dialects/nn/Utils/Labels.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

llvm::StringRef pdc::nn::getLabel(Location loc) {
  if (auto named = loc->findInstanceOf<NameLoc>())
    return named.getName().getValue();
  return {};
}

Location pdc::nn::withLabel(llvm::StringRef label, Location loc) {
  if (label.empty())
    return loc;
  return NameLoc::get(StringAttr::get(loc.getContext(), label), loc);
}
