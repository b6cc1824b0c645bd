//===- InputLayouts.cpp - inputs as they can be loaded --------------------===//

#include "passes/partition/InputLayouts.h"
#include "mlir/IR/Builders.h"
#include "passes/layouts/Reshard.h"

using namespace mlir;
using namespace pdc;
using dist::LayoutAttr;

/// Every rank's part in `wanted` lies inside of its part in `loaded`.
static bool covers(LayoutAttr loaded, LayoutAttr wanted, ArrayRef<int64_t> shape, dist::MeshOp mesh) {
  if (!passes::checkFits(loaded, shape, mesh).empty())
    return false;
  for (int64_t rank : mesh.getRanks()) {
    passes::LocalPart has = passes::getLocalPart(loaded, shape, mesh, rank);
    passes::LocalPart needs = passes::getLocalPart(wanted, shape, mesh, rank);
    for (size_t d = 0; d < shape.size(); ++d)
      if (needs.start[d] < has.start[d] || needs.start[d] + needs.shape[d] > has.start[d] + has.shape[d])
        return false;
  }
  return true;
}

/// Dimension 0 split over the axes, the others whole.
static LayoutAttr loadable(Value input, ArrayRef<Attribute> axes, int64_t block) {
  int64_t rank = cast<RankedTensorType>(input.getType()).getRank();
  SmallVector<StringRef> names;
  for (Attribute axis : axes)
    names.push_back(cast<StringAttr>(axis).getValue());
  if (names.empty() || rank == 0)
    return LayoutAttr::getReplicated(input.getContext(), rank);
  return LayoutAttr::getSplit(input.getContext(), rank, 0, names, block);
}

void passes::makeInputsLoadable(nn::StepOp step, dist::MeshOp mesh) {
  SmallVector<BlockArgument> inputs;
  for (BlockArgument argument : step.getBody().getArguments()) {
    auto role = step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "nn.role");
    if (role && role.getValue() == "input" && cast<RankedTensorType>(argument.getType()).getRank() > 0)
      inputs.push_back(argument);
  }
  if (inputs.empty())
    return;
  LayoutAttr first = dist::getLayout(inputs.front());
  SmallVector<Attribute> axes(first.getAxes(0).begin(), first.getAxes(0).end());
  // Whole blocks where all inputs have them.
  int64_t block = first.getBlocks()[0];
  for (BlockArgument input : inputs) {
    LayoutAttr layout = dist::getLayout(input);
    size_t common = 0;
    while (common < axes.size() && common < layout.getAxes(0).size() &&
           layout.getAxes(0)[common] == axes[common])
      ++common;
    if (common != axes.size() || layout.getBlocks()[0] != block)
      block = 1;
    axes.truncate(common);
  }
  auto coversAll = [&] {
    return llvm::all_of(inputs, [&](BlockArgument input) {
      ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
      return covers(loadable(input, axes, block), dist::getLayout(input), shape, mesh);
    });
  };
  while (!axes.empty() && !coversAll()) {
    axes.pop_back();
    block = 1;
  }
  OpBuilder b(step.getContext());
  for (BlockArgument input : inputs) {
    LayoutAttr wanted = dist::getLayout(input), loaded = loadable(input, axes, block);
    if (loaded == wanted)
      continue;
    b.setInsertionPointToStart(&step.getBody().front());
    auto reshard = dist::ReshardOp::create(b, input.getLoc(), input.getType(), input);
    reshard->setAttr(dist::kLayoutsAttr, b.getArrayAttr({wanted}));
    input.replaceAllUsesExcept(reshard, reshard);
    step.setArgAttr(input.getArgNumber(), dist::kLayoutAttr, loaded);
  }
}
