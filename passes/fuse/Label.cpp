//===- Label.cpp - what a person calls a kernel ---------------------------===//

#include "passes/fuse/Label.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static constexpr size_t longestLabel = 60;

static std::string nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string name = nameOf(part); !name.empty())
        return name;
  return "";
}

static StringRef kindOf(Operation *op) { return op->getName().stripDialect(); }

void passes::nameCompositeOps(Operation *root) {
  root->walk([](nn::DecomposableOpInterface op) {
    std::string name = nameOf(op->getLoc());
    name += " " + kindOf(op).str(); // the space marks the name of a composite op
    op->setLoc(NameLoc::get(StringAttr::get(op->getContext(), name), op->getLoc()));
  });
}

/// Ops that say nothing about what a group is for.
static bool isPlumbing(Operation *op) {
  return isa<nn::ConstantOp, nn::CastOp, nn::BroadcastOp, nn::ReshapeOp, nn::IotaOp>(op);
}

std::string passes::makeLabel(ArrayRef<Operation *> ops) {
  // Where an op comes from, and the kinds of ops that are not part of a composite one.
  llvm::SetVector<StringRef> words;
  SmallVector<std::string> names;
  bool onlyPlumbing = llvm::all_of(ops, isPlumbing);
  for (Operation *op : ops)
    if (!isPlumbing(op) || onlyPlumbing)
      names.push_back(nameOf(op->getLoc()));
  size_t next = 0;
  for (Operation *op : ops) {
    if (isPlumbing(op) && !onlyPlumbing)
      continue;
    StringRef name = names[next++];
    SmallVector<StringRef> parts;
    name.split(parts, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef part : parts)
      words.insert(part);
    if (!name.contains(' '))
      words.insert(kindOf(op));
  }
  std::string label;
  for (StringRef word : words) {
    if (label.size() + word.size() + 1 > longestLabel - 4)
      return label + " ...";
    label += (label.empty() ? "" : " ") + word.str();
  }
  return label;
}
