//===- SeparateProjectionsPass.cpp - parts of a projection ----------------===//

#include "passes/separate_projections/SeparateProjectionsPass.h"
#include "dialects/nn/IR/NN.h"

namespace pdc::passes {
#define GEN_PASS_DEF_SEPARATEPROJECTIONSPASS
#include "passes/separate_projections/SeparateProjectionsPass.h.inc"
} // namespace pdc::passes

using namespace mlir;
using namespace pdc;

static ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

//===----------------------------------------------------------------------===//
// What can be separated
//===----------------------------------------------------------------------===//

/// The size of the parts that nn.split makes of the last dimension; nothing if they differ.
static std::optional<int64_t> equalParts(nn::SplitOp split) {
  bool isLast = split.getAxis() == shapeOf(split.getInput()).size() - 1;
  return isLast && llvm::all_equal(split.getSizes()) ? std::optional(split.getSizes().front()) : std::nullopt;
}

/// Where `slice` begins in the last dimension and how much it takes; nothing if it cuts another one too, or has gaps.
static std::optional<std::pair<int64_t, int64_t>> cutOfLast(nn::SliceOp slice) {
  ArrayRef<int64_t> whole = shapeOf(slice.getInput()), part = shapeOf(slice.getResult());
  bool hasGaps = llvm::any_of(slice.getStrides(), [](int64_t stride) { return stride != 1; });
  if (hasGaps || whole.drop_back() != part.drop_back())
    return std::nullopt;
  return std::pair(slice.getOffsets().back(), part.back());
}

/// The size of the parts that slices make of the last dimension of `value`; nothing if these are not all of it, or unequal.
static std::optional<int64_t> equalSlices(Value value) {
  std::optional<int64_t> size;
  llvm::SmallDenseSet<int64_t> begins;
  for (Operation *user : value.getUsers()) {
    auto slice = dyn_cast<nn::SliceOp>(user);
    auto cut = slice ? cutOfLast(slice) : std::nullopt;
    if (!cut || cut->second != size.value_or(cut->second) || cut->first % cut->second != 0)
      return std::nullopt;
    size = cut->second;
    begins.insert(cut->first);
  }
  bool isCovered = size && static_cast<int64_t>(begins.size()) * *size == shapeOf(value).back();
  return isCovered ? size : std::nullopt;
}

/// The size of the equal parts into which `value` is cut along its last dimension; nothing if it is used otherwise.
static std::optional<int64_t> partSize(Value value) {
  std::optional<int64_t> size;
  if (value.hasOneUse() && isa<nn::SplitOp>(*value.user_begin()))
    size = equalParts(cast<nn::SplitOp>(*value.user_begin()));
  else
    size = equalSlices(value);
  return size && *size < shapeOf(value).back() ? size : std::nullopt;
}

/// The parameter that `use` is the only use of, if it has its declared shape.
static nn::ParamOp ownParameter(Value use) {
  auto param = use.getDefiningOp<nn::ParamOp>();
  return param && use.hasOneUse() && !param.getDeclaredShape() ? param : nn::ParamOp();
}

//===----------------------------------------------------------------------===//
// Separation
//===----------------------------------------------------------------------===//

/// `dimension`, of `parts` parts, becomes two.
static void separate(nn::ParamOp param, int64_t dimension, int64_t parts) {
  Builder b(param.getContext());
  auto type = cast<RankedTensorType>(param.getResult().getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[dimension] /= parts;
  shape.insert(shape.begin() + dimension, parts);
  param.setDeclaredShape(type.getShape());
  param.getResult().setType(type.clone(shape));
  if (!param.getDims())
    return;
  SmallVector<Attribute> names(param.getDimsAttr().getValue());
  names.insert(names.begin() + dimension, b.getStringAttr(""));
  param.setDimsAttr(b.getArrayAttr(names));
}

/// `part` [rows..., 1, n] in the place of `old` [rows..., n].
static void replacePart(OpBuilder &b, Value old, Value part) {
  old.replaceAllUsesWith(nn::ReshapeOp::create(b, old.getLoc(), old.getType(), part));
}

/// What was cut out of a product [rows..., parts * n] is cut out of `product` [rows..., parts, n].
static void separateCut(Operation *cut, Value product) {
  OpBuilder b(cut);
  int64_t axis = static_cast<int64_t>(shapeOf(product).size()) - 2;
  if (auto split = dyn_cast<nn::SplitOp>(cut)) {
    SmallVector<int64_t> ones(split.getNumResults(), 1);
    auto parts = nn::SplitOp::create(b, cut->getLoc(), product, axis, ones);
    for (auto [old, part] : llvm::zip(split.getResults(), parts.getResults()))
      replacePart(b, old, part);
  } else {
    auto slice = cast<nn::SliceOp>(cut);
    SmallVector<int64_t> offsets(axis + 2, 0), sizes(axis + 2, -1);
    offsets[axis] = slice.getOffsets().back() / shapeOf(product).back();
    sizes[axis] = 1;
    replacePart(b, slice.getResult(), nn::SliceOp::create(b, cut->getLoc(), product, offsets, sizes));
  }
  cut->erase();
}

/// Does nothing where `linear` is no merged projection.
static void separate(nn::LinearOp linear) {
  nn::ParamOp weight = ownParameter(linear.getWeight());
  nn::ParamOp bias = linear.getBias() ? ownParameter(linear.getBias()) : nn::ParamOp();
  bool isPlain = linear.getInnerDims() == 1 && linear.getOuterDims() == 1;
  std::optional<int64_t> size = partSize(linear.getResult());
  if (!weight || (linear.getBias() && !bias) || !isPlain || !size)
    return;
  int64_t parts = shapeOf(linear.getResult()).back() / *size;
  separate(weight, /*dimension=*/linear.getTransposeWeight() ? 0 : 1, parts);
  if (bias)
    separate(bias, /*dimension=*/0, parts);
  OpBuilder b(linear);
  auto product = nn::LinearOp::create(b, linear.getLoc(), linear.getInput(), linear.getWeight(), linear.getBias(),
                                      linear.getTransposeWeight());
  for (Operation *cut : llvm::make_early_inc_range(linear.getResult().getUsers()))
    separateCut(cut, product);
  linear.erase();
}

namespace {
struct SeparateProjections : passes::impl::SeparateProjectionsPassBase<SeparateProjections> {
  void runOnOperation() override {
    SmallVector<nn::LinearOp> products;
    getOperation().walk([&](nn::LinearOp linear) { products.push_back(linear); });
    for (nn::LinearOp linear : products)
      separate(linear);
  }
};
} // namespace
