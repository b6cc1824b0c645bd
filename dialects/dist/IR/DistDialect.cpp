//===- DistDialect.cpp - the dist dialect: attributes and registration ----===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pdc::dist;

#include "dialects/dist/IR/DistDialect.cpp.inc"
#include "dialects/dist/IR/DistEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttributes.cpp.inc"

void DistDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/IR/DistAttributes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/dist/IR/DistOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Parts of a dimension
//===----------------------------------------------------------------------===//

int64_t pdc::dist::shardSize(int64_t size, int64_t block, int64_t parts, int64_t part) {
  int64_t blocks = size / block;
  return block * (blocks / parts + (part < blocks % parts ? 1 : 0));
}

int64_t pdc::dist::shardStart(int64_t size, int64_t block, int64_t parts, int64_t part) {
  int64_t blocks = size / block;
  return block * (part * (blocks / parts) + std::min(part, blocks % parts));
}

SmallVector<int64_t> pdc::dist::partSizes(std::optional<ArrayRef<int64_t>> stated, int64_t size,
                                          int64_t parts) {
  if (stated)
    return SmallVector<int64_t>(*stated);
  SmallVector<int64_t> sizes;
  for (int64_t part = 0; part < parts; ++part)
    sizes.push_back(shardSize(size, 1, parts, part));
  return sizes;
}

//===----------------------------------------------------------------------===//
// LayoutAttr
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::getReplicated(MLIRContext *context, int64_t rank) {
  Builder b(context);
  ArrayAttr none = b.getArrayAttr({});
  return get(context, b.getArrayAttr(SmallVector<Attribute>(rank, none)),
             b.getDenseI64ArrayAttr(SmallVector<int64_t>(rank, 1)), none, none);
}

LayoutAttr LayoutAttr::getSplit(MLIRContext *context, int64_t rank, int64_t dim, ArrayRef<StringRef> axes,
                                int64_t block) {
  Builder b(context);
  ArrayAttr none = b.getArrayAttr({});
  SmallVector<Attribute> dims(rank, none);
  SmallVector<int64_t> blocks(rank, 1);
  dims[dim] = b.getStrArrayAttr(axes);
  blocks[dim] = block;
  return get(context, b.getArrayAttr(dims), b.getDenseI64ArrayAttr(blocks), none, none);
}

LayoutAttr LayoutAttr::withPartial(bool isMax, ArrayAttr axes) const {
  ArrayAttr none = ArrayAttr::get(getContext(), {});
  return get(getContext(), getDims(), getBlocks(), isMax ? none : axes, isMax ? axes : none);
}

bool LayoutAttr::isReplicated() const {
  return !isPartial() &&
         llvm::all_of(getDims(), [](Attribute axes) { return cast<ArrayAttr>(axes).empty(); });
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayAttr dims,
                                 DenseI64ArrayAttr blocks, ArrayAttr sum, ArrayAttr max) {
  if (blocks.size() != static_cast<int64_t>(dims.size()))
    return emitError() << "has " << dims.size() << " dimensions and " << blocks.size() << " block sizes";
  for (auto [block, axes] : llvm::zip(blocks.asArrayRef(), dims)) {
    if (block < 1)
      return emitError() << "splits a dimension in blocks of " << block
                         << "; a block has at least one element";
    if (block != 1 && cast<ArrayAttr>(axes).empty())
      return emitError() << "gives a block of " << block << " to a dimension that no axis splits";
  }
  llvm::StringSet<> seen;
  auto add = [&](ArrayAttr axes) -> LogicalResult {
    for (Attribute axis : axes)
      if (StringRef name = cast<StringAttr>(axis).getValue(); !seen.insert(name).second)
        return emitError() << "uses axis \"" << name << "\" twice";
    return success();
  };
  for (Attribute axes : dims)
    if (failed(add(cast<ArrayAttr>(axes))))
      return failure();
  return success(succeeded(add(sum)) && succeeded(add(max)));
}

static FailureOr<ArrayAttr> parseAxes(AsmParser &parser) {
  SmallVector<Attribute> axes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  return parser.getBuilder().getArrayAttr(axes);
}

// <[["data"] by 128, []], sum = ["x"], max = ["y"]>
Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  Builder &b = parser.getBuilder();
  SmallVector<Attribute> dims;
  SmallVector<int64_t> blocks;
  auto parseDim = [&]() -> ParseResult {
    FailureOr<ArrayAttr> axes = parseAxes(parser);
    if (failed(axes))
      return failure();
    dims.push_back(*axes);
    blocks.push_back(1);
    if (succeeded(parser.parseOptionalKeyword("by")))
      return parser.parseInteger(blocks.back());
    return success();
  };
  if (parser.parseLess() || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  ArrayAttr partial[2] = {b.getArrayAttr({}), b.getArrayAttr({})};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef kind;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&kind) || parser.parseEqual())
      return {};
    if (kind != "sum" && kind != "max") {
      parser.emitError(loc, "expected 'sum' or 'max', found '") << kind << "'";
      return {};
    }
    FailureOr<ArrayAttr> axes = parseAxes(parser);
    if (failed(axes))
      return {};
    partial[kind == "max"] = *axes;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<LayoutAttr>(parser.getContext(), b.getArrayAttr(dims),
                                       b.getDenseI64ArrayAttr(blocks), partial[0], partial[1]);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(llvm::zip(getDims(), getBlocks().asArrayRef()), printer, [&](auto dim) {
    auto [axes, block] = dim;
    printer << axes;
    if (block != 1)
      printer << " by " << block;
  });
  printer << "]";
  if (!getSum().empty())
    printer << ", sum = " << getSum();
  if (!getMax().empty())
    printer << ", max = " << getMax();
  printer << ">";
}

LayoutAttr pdc::dist::getLayout(Value value) {
  LayoutAttr layout;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (auto function = dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp()))
      layout = function.getArgAttrOfType<LayoutAttr>(argument.getArgNumber(), kLayoutAttr);
  } else if (auto layouts = value.getDefiningOp()->getAttrOfType<ArrayAttr>(kLayoutsAttr)) {
    size_t index = cast<OpResult>(value).getResultNumber();
    if (index < layouts.size())
      layout = dyn_cast<LayoutAttr>(layouts[index]);
  }
  if (layout)
    return layout;
  return LayoutAttr::getReplicated(value.getContext(), cast<RankedTensorType>(value.getType()).getRank());
}

int64_t pdc::dist::countRanks(Operation *module) {
  int64_t ranks = 1;
  for (MeshOp mesh : module->getRegion(0).getOps<MeshOp>())
    ranks = std::max(ranks, mesh.getFirst() + mesh.getNumRanks());
  return ranks;
}
