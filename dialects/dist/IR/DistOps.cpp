//===- DistOps.cpp - verifiers of the dist dialect ------------------------===//

#include "dialects/dist/IR/Dist.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/InterleavedRange.h"
#include <numeric>

using namespace mlir;
using namespace pdc::dist;

//===----------------------------------------------------------------------===//
// MeshOp
//===----------------------------------------------------------------------===//

// ["data" = 4, "tensor" = 2]
static ParseResult parseMeshAxes(OpAsmParser &parser, ArrayAttr &names, DenseI64ArrayAttr &sizes) {
  SmallVector<Attribute> parsedNames;
  SmallVector<int64_t> parsedSizes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(parsedSizes.emplace_back()))
      return failure();
    parsedNames.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis))
    return failure();
  names = parser.getBuilder().getArrayAttr(parsedNames);
  sizes = parser.getBuilder().getDenseI64ArrayAttr(parsedSizes);
  return success();
}

static void printMeshAxes(OpAsmPrinter &printer, MeshOp, ArrayAttr names, DenseI64ArrayAttr sizes) {
  printer << "[";
  llvm::interleaveComma(llvm::zip(names, sizes.asArrayRef()), printer,
                        [&](auto axis) { printer << std::get<0>(axis) << " = " << std::get<1>(axis); });
  printer << "]";
}

LogicalResult MeshOp::verify() {
  if (static_cast<int64_t>(getAxisNames().size()) != static_cast<int64_t>(getAxisSizes().size()))
    return emitOpError() << "has " << getAxisNames().size() << " axis names and " << getAxisSizes().size()
                         << " axis sizes";
  llvm::StringSet<> seen;
  for (auto [name, size] : llvm::zip(getAxisNames().getAsValueRange<StringAttr>(), getAxisSizes())) {
    if (!seen.insert(name).second)
      return emitOpError() << "has two axes named \"" << name << "\"";
    if (size < 1)
      return emitOpError() << "axis \"" << name << "\" has size " << size << ", expected at least 1";
  }
  if (getFirst() < 0)
    return emitOpError() << "begins at rank " << getFirst() << ", expected 0 or more";
  return success();
}

int64_t MeshOp::getNumRanks() {
  int64_t ranks = 1;
  for (int64_t size : getAxisSizes())
    ranks *= size;
  return ranks;
}

int64_t MeshOp::findAxis(StringRef axis) {
  for (auto [index, name] : llvm::enumerate(getAxisNames().getAsValueRange<StringAttr>()))
    if (name == axis)
      return index;
  return -1;
}

int64_t MeshOp::getParts(ArrayAttr axes) {
  int64_t parts = 1;
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    parts *= getAxisSizes()[findAxis(axis)];
  return parts;
}

int64_t MeshOp::getPart(ArrayAttr axes, int64_t rank) {
  SmallVector<int64_t> coordinates(getAxisSizes().size());
  rank -= getFirst();
  for (int64_t i = getAxisSizes().size() - 1; i >= 0; --i) {
    coordinates[i] = rank % getAxisSizes()[i];
    rank /= getAxisSizes()[i];
  }
  int64_t part = 0;
  for (StringRef axis : axes.getAsValueRange<StringAttr>())
    part = part * getAxisSizes()[findAxis(axis)] + coordinates[findAxis(axis)];
  return part;
}

SmallVector<SmallVector<int64_t>> MeshOp::getGroups(ArrayAttr axes) {
  SmallVector<Attribute> others;
  for (Attribute name : getAxisNames())
    if (!llvm::is_contained(axes, name))
      others.push_back(name);
  ArrayAttr rest = ArrayAttr::get(getContext(), others);
  SmallVector<SmallVector<int64_t>> groups(getParts(rest), SmallVector<int64_t>(getParts(axes)));
  for (int64_t rank : getRanks())
    groups[getPart(rest, rank)][getPart(axes, rank)] = rank;
  return groups;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// The mesh that a collective names, with every axis it names.
static FailureOr<MeshOp> verifyAxes(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr meshName,
                                    ArrayAttr axes) {
  auto mesh = tables.lookupNearestSymbolFrom<MeshOp>(op, meshName);
  if (!mesh)
    return op->emitOpError() << "names the mesh " << meshName << ", and there is no such dist.mesh";
  llvm::StringSet<> seen;
  for (StringRef axis : axes.getAsValueRange<StringAttr>()) {
    if (mesh.findAxis(axis) < 0)
      return op->emitOpError() << "names axis \"" << axis << "\", which mesh " << meshName
                               << " does not have";
    if (!seen.insert(axis).second)
      return op->emitOpError() << "names axis \"" << axis << "\" twice";
  }
  return mesh;
}

/// `part` is one of the parts of `whole` along `dim`, which have these sizes.
static LogicalResult verifyPart(Operation *op, RankedTensorType part, RankedTensorType whole, int64_t dim,
                                int64_t parts, ArrayRef<int64_t> sizes) {
  int64_t size = part.getDimSize(dim), total = whole.getDimSize(dim);
  if (static_cast<int64_t>(sizes.size()) != parts)
    return op->emitOpError() << "has " << sizes.size() << " sizes for " << parts << " ranks";
  if (std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) != total)
    return op->emitOpError() << "has parts of sizes [" << llvm::interleaved(sizes) << "] along dimension "
                             << dim << " of " << total;
  if (!llvm::is_contained(sizes, size))
    return op->emitOpError() << "a part of size " << size << " along dimension " << dim << " is none of "
                             << parts << " parts of " << total;
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim, RankedTensorType input, RankedTensorType result) {
  if (input.getElementType() != result.getElementType() || input.getRank() != result.getRank())
    return op->emitOpError() << "turns " << input << " into " << result
                             << "; element type and rank must stay the same";
  if (dim < 0 || dim >= input.getRank())
    return op->emitOpError() << "dimension " << dim << " is not one of the " << input.getRank() << " of "
                             << input;
  return success();
}

static LogicalResult verifyOthers(Operation *op, ArrayRef<int64_t> dims, RankedTensorType input,
                                  RankedTensorType result) {
  for (int64_t d = 0; d < input.getRank(); ++d)
    if (!llvm::is_contained(dims, d) && input.getDimSize(d) != result.getDimSize(d))
      return op->emitOpError() << "changes dimension " << d << " from " << input.getDimSize(d) << " to "
                               << result.getDimSize(d) << ", which it does not work along";
  return success();
}

/// That an op states the layout of its one result.
static LogicalResult verifyStatesLayout(Operation *op) {
  auto layouts = op->getAttrOfType<ArrayAttr>(kLayoutsAttr);
  if (!layouts || layouts.size() != 1 || !isa<LayoutAttr>(layouts[0]))
    return op->emitOpError("needs the layout of its result: {dist.layouts = [#dist.layout<...>]}");
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (int64_t rank = cast<LayoutAttr>(layouts[0]).getRank(); rank != type.getRank())
    return op->emitOpError() << "has a layout of " << rank << " dimensions for " << type;
  return success();
}
LogicalResult ReshardOp::verify() { return verifyStatesLayout(*this); }
LogicalResult SummandOp::verify() { return verifyStatesLayout(*this); }

LogicalResult AllReduceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                            DictionaryAttr, OpaqueProperties, RegionRange,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult AllReduceOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no operands");
  Type element = getElementTypeOrSelf(getInputs().front());
  for (Value input : getInputs())
    if (getElementTypeOrSelf(input) != element)
      return emitOpError() << "combines " << element << " and " << getElementTypeOrSelf(input)
                           << " in one message; the element types must be equal";
  return success();
}
LogicalResult AllReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyAxes(*this, tables, getMeshAttr(), getAxes());
}

/// Of ops that work along one dimension.
template <typename OpT> static LogicalResult verifyOneDim(OpT op) {
  if (failed(verifyDim(op, op.getDim(), op.getInput().getType(), op.getType())))
    return failure();
  return verifyOthers(op, {static_cast<int64_t>(op.getDim())}, op.getInput().getType(), op.getType());
}
template <typename OpT>
static LogicalResult verifyOneDimAxes(OpT op, SymbolTableCollection &tables, Value part, Value whole) {
  FailureOr<MeshOp> mesh = verifyAxes(op, tables, op.getMeshAttr(), op.getAxes());
  if (failed(mesh))
    return failure();
  int64_t members = mesh->getParts(op.getAxes());
  return verifyPart(op, cast<RankedTensorType>(part.getType()), cast<RankedTensorType>(whole.getType()),
                    op.getDim(), members, op.getMemberSizes(members));
}

LogicalResult AllGatherOp::verify() { return verifyOneDim(*this); }
LogicalResult AllGatherOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyOneDimAxes(*this, tables, getInput(), getResult());
}

LogicalResult ReduceScatterOp::verify() { return verifyOneDim(*this); }
LogicalResult ReduceScatterOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyOneDimAxes(*this, tables, getResult(), getInput());
}

LogicalResult SliceOp::verify() { return verifyOneDim(*this); }
LogicalResult SliceOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyOneDimAxes(*this, tables, getResult(), getInput());
}

LogicalResult AllToAllOp::verify() {
  int64_t split = getSplitDim(), concat = getConcatDim();
  if (failed(verifyDim(*this, split, getInput().getType(), getType())) ||
      failed(verifyDim(*this, concat, getInput().getType(), getType())))
    return failure();
  if (split == concat)
    return emitOpError() << "splits and joins the same dimension " << split;
  return verifyOthers(*this, {split, concat}, getInput().getType(), getType());
}
LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<MeshOp> mesh = verifyAxes(*this, tables, getMeshAttr(), getAxes());
  if (failed(mesh))
    return failure();
  int64_t parts = mesh->getParts(getAxes());
  RankedTensorType input = getInput().getType(), result = getType();
  if (failed(verifyPart(*this, result, input, getSplitDim(), parts, getMemberSplitSizes(parts))))
    return failure();
  return verifyPart(*this, input, result, getConcatDim(), parts, getMemberConcatSizes(parts));
}

LogicalResult BroadcastOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<MeshOp> mesh = verifyAxes(*this, tables, getMeshAttr(), getAxes());
  if (failed(mesh))
    return failure();
  int64_t root = getRoot(), parts = mesh->getParts(getAxes());
  if (root < 0 || root >= parts)
    return emitOpError() << "has root " << root << ", expected one of 0 to " << parts - 1;
  return success();
}

std::pair<int64_t, int64_t> HaloExchangeOp::getMoved(int64_t from, int64_t to) {
  return {std::max(getHas()[2 * from], getNeeds()[2 * to]),
          std::min(getHas()[2 * from + 1], getNeeds()[2 * to + 1])};
}

LogicalResult HaloExchangeOp::verify() {
  int64_t dim = getDim();
  if (failed(verifyDim(*this, dim, getInput().getType(), getType())) ||
      failed(verifyOthers(*this, {dim}, getInput().getType(), getType())))
    return failure();
  ArrayRef<int64_t> has = getHas(), needs = getNeeds();
  if (has.empty() || has.size() % 2 != 0 || needs.size() != has.size())
    return emitOpError() << "has " << has.size() << " borders of parts and needs " << needs.size()
                         << ", expected two for each part";
  if (has.front() != 0)
    return emitOpError("has a first part that does not begin at 0");
  bool sizesOccur = false;
  for (size_t i = 0; i < has.size(); i += 2) {
    if (has[i + 1] <= has[i] || (i + 2 < has.size() && has[i + 2] != has[i + 1]))
      return emitOpError() << "has part " << i / 2 << " from " << has[i] << " to " << has[i + 1]
                           << "; parts must not be empty and follow each other";
    if (needs[i] < 0 || needs[i + 1] <= needs[i] || needs[i + 1] > has.back())
      return emitOpError() << "needs elements " << needs[i] << " to " << needs[i + 1] << " of " << has.back()
                           << " for part " << i / 2;
    sizesOccur |= getInput().getType().getDimSize(dim) == has[i + 1] - has[i] &&
                  getType().getDimSize(dim) == needs[i + 1] - needs[i];
  }
  if (!sizesOccur)
    return emitOpError() << "turns " << getInput().getType() << " into " << getType() << " along dimension "
                         << dim << ", which no part has and needs";
  return success();
}
LogicalResult HaloExchangeOp::verifySymbolUses(SymbolTableCollection &tables) {
  FailureOr<MeshOp> mesh = verifyAxes(*this, tables, getMeshAttr(), getAxes());
  if (failed(mesh))
    return failure();
  if (int64_t parts = mesh->getParts(getAxes()); parts * 2 != static_cast<int64_t>(getHas().size()))
    return emitOpError() << "has " << getHas().size() / 2 << " parts, over axes that split into " << parts;
  return success();
}

LogicalResult ShardStartOp::verify() {
  if (getType().getRank() != 0)
    return emitOpError() << "has the result type " << getType() << ", expected tensor<i64>";
  int64_t size = getSize(), block = getBlock();
  if (size < 1 || block < 1 || size % block != 0)
    return emitOpError() << "size " << size << " is no multiple of block " << block;
  return success();
}
LogicalResult ShardStartOp::verifySymbolUses(SymbolTableCollection &tables) {
  return verifyAxes(*this, tables, getMeshAttr(), getAxes());
}

LogicalResult OptimizationBarrierOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands,
                                                      DictionaryAttr, OpaqueProperties, RegionRange,
                                                      SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.getTypes());
  return success();
}

LogicalResult OptimizationBarrierOp::verify() {
  if (getInputs().empty())
    return emitOpError("has no operands");
  return success();
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static LogicalResult verifyTag(Operation *op, uint64_t tag) {
  if (static_cast<int64_t>(tag) < 0)
    return op->emitOpError() << "has the tag " << static_cast<int64_t>(tag) << ", expected 0 or more";
  return success();
}

static LogicalResult verifyNoPartial(Operation *op, LayoutAttr layout) {
  if (layout.isPartial())
    return op->emitOpError() << "moves a partial result (" << layout << "); it must be reduced before";
  return success();
}

template <typename OpT> static LogicalResult verifyStages(OpT op, SymbolTableCollection &tables) {
  for (FlatSymbolRefAttr name : {op.getMeshAttr(), op.getPeerAttr()})
    if (!tables.lookupNearestSymbolFrom<MeshOp>(op, name))
      return op.emitOpError() << "names the mesh " << name << ", and there is no such dist.mesh";
  return verifyTag(op, op.getTag());
}
LogicalResult StageSendOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(succeeded(verifyStages(*this, tables)) && succeeded(verifyNoPartial(*this, getLayout())) &&
                 succeeded(verifyNoPartial(*this, pdc::dist::getLayout(getInput()))));
}
LogicalResult StageWaitOp::verifySymbolUses(SymbolTableCollection &tables) { return verifyStages(*this, tables); }
LogicalResult StageReceiveOp::verifySymbolUses(SymbolTableCollection &tables) {
  return success(succeeded(verifyStages(*this, tables)) && succeeded(verifyNoPartial(*this, getLayout())) &&
                 succeeded(verifyNoPartial(*this, pdc::dist::getLayout(getResult()))));
}

/// One peer for each rank that runs the step; none of a send that other ranks of the stage make.
template <typename OpT> static LogicalResult verifyMessage(OpT op) {
  auto ranks = op->getParentOp()->template getAttrOfType<DenseI64ArrayAttr>(kRanksAttr);
  bool isOfOthers = std::is_same_v<OpT, SendOp> && op.getPeers().empty();
  if (!isOfOthers && (op.getPeers().empty() || (ranks && ranks.size() != static_cast<int64_t>(op.getPeers().size()))))
    return op.emitOpError() << "has " << op.getPeers().size() << " peers, expected one for each of the step's "
                            << (ranks ? ranks.size() : 1) << " ranks";
  for (int64_t peer : op.getPeers())
    if (peer < 0)
      return op.emitOpError() << "has the peer " << peer << ", expected a rank";
  return verifyTag(op, op.getTag());
}
LogicalResult SendOp::verify() { return verifyMessage(*this); }
LogicalResult SendWaitOp::verify() { return verifyMessage(*this); }
LogicalResult ReceiveOp::verify() { return verifyMessage(*this); }

#define GET_OP_CLASSES
#include "dialects/dist/IR/DistOps.cpp.inc"
