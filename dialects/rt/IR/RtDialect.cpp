//===- RtDialect.cpp - the rt dialect -------------------------------------===//

#include "dialects/rt/IR/Rt.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pdc::rt;

#include "dialects/rt/IR/RtDialect.cpp.inc"
#include "dialects/rt/IR/RtEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/rt/IR/RtAttributes.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/rt/IR/RtTypes.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/rt/IR/RtAttributes.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/rt/IR/RtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/IR/RtOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

int64_t pdc::rt::elementBytes(Type elementType) { return (elementType.getIntOrFloatBitWidth() + 7) / 8; }

bool pdc::rt::isDense(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  int64_t expected = 1;
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    if (type.getDimSize(d) != 1 && strides[d] != expected)
      return false;
    expected *= type.getDimSize(d);
  }
  return true;
}

BufferOp pdc::rt::getBuffer(Value memory) {
  if (auto view = memory.getDefiningOp<ViewOp>())
    memory = view.getBuffer();
  return memory.getDefiningOp<BufferOp>();
}

bool pdc::rt::isInstruction(Operation *op) { return !isa<BufferOp, ViewOp>(op); }

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  static constexpr StringLiteral modes[] = {"train", "gradient", "evaluate", "infer", "reference_gradient"};
  if (!llvm::is_contained(modes, getMode()))
    return emitOpError() << "has mode \"" << getMode()
                         << "\", expected train, gradient, evaluate, infer or reference_gradient";
  if (getRanks().empty() || getRanks().size() != getBatchStarts().size())
    return emitOpError() << "is for " << getRanks().size() << " ranks and has " << getBatchStarts().size()
                         << " batch starts";
  return success();
}

void DefineOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " (";
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ") memory " << getArguments() << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"sym_name", "arguments"});
}

ParseResult DefineOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  ArrayAttr types;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseKeyword("memory") || parser.parseAttribute(types, "arguments", result.attributes))
    return failure();
  Region *body = result.addRegion();
  return failure(parser.parseRegion(*body, arguments) ||
                 parser.parseOptionalAttrDictWithKeyword(result.attributes));
}

LogicalResult DefineOp::verify() {
  Block &body = getBody().front();
  if (!llvm::hasSingleElement(body) || body.front().getName().getStringRef() != "nn.fusion")
    return emitOpError("expected exactly one nn.fusion in its body");
  Operation &fusion = body.front();
  SmallVector<Type> tensors(fusion.getOperandTypes());
  SmallVector<bool> donated(fusion.getNumResults(), false);
  if (auto pairs = fusion.getAttrOfType<ArrayAttr>("donate"))
    for (Attribute pair : pairs) {
      auto dense = dyn_cast<DenseI64ArrayAttr>(pair);
      int64_t result = dense ? dense[1] : cast<IntegerAttr>(cast<ArrayAttr>(pair)[1]).getInt();
      donated[result] = true;
    }
  for (auto [type, inPlace] : llvm::zip(fusion.getResultTypes(), donated))
    if (!inPlace)
      tensors.push_back(type);
  if (tensors.size() != getArguments().size())
    return emitOpError() << "has " << getArguments().size() << " memory types for " << tensors.size()
                         << " operands and results";
  for (auto [tensor, memory] : llvm::zip(tensors, getArguments().getAsValueRange<TypeAttr>())) {
    auto memref = dyn_cast<MemRefType>(memory);
    if (!memref || memref.getShape() != cast<RankedTensorType>(tensor).getShape() ||
        memref.getElementType() != getElementTypeOrSelf(tensor))
      return emitOpError() << "puts " << tensor << " into " << memory;
  }
  return success();
}

bool BufferOp::isPersistent() {
  return getKind() == BufferKind::Parameter || getKind() == BufferKind::OptimizerState ||
         getKind() == BufferKind::State;
}

int64_t BufferOp::getBytes() {
  MemRefType type = getType();
  return type.getNumElements() * elementBytes(type.getElementType());
}

LogicalResult BufferOp::verify() {
  MemRefType type = getType();
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return emitOpError() << "has type " << type << ", expected a dense memref of static shape";
  if ((getKind() == BufferKind::Constant) != (getValue() || getRankValues()))
    return emitOpError("a constant, and nothing else, has a value");
  if (isPersistent() && getName().empty())
    return emitOpError("persists over steps and has no name");
  if (getGlobalShape() && static_cast<int64_t>(getGlobalShape()->size()) != type.getRank())
    return emitOpError() << "has a global shape of " << getGlobalShape()->size() << " dimensions for "
                         << type;
  if (getDeclaredShape() && getKind() != BufferKind::Parameter && getKind() != BufferKind::OptimizerState)
    return emitOpError("has a declared shape, but is no parameter and no optimizer state");
  if (getDeclaredShape() && ShapedType::getNumElements(*getDeclaredShape()) !=
                                ShapedType::getNumElements(getGlobalShape() ? *getGlobalShape() : type.getShape()))
    return emitOpError() << "has the declared shape [" << *getDeclaredShape() << "], which has other elements than ["
                         << (getGlobalShape() ? *getGlobalShape() : type.getShape()) << "]";
  if (auto program = dyn_cast<ProgramOp>((*this)->getParentOp())) {
    int64_t ranks = program.getRanks().size();
    if (getStarts() && static_cast<int64_t>(getStarts()->size()) != ranks * type.getRank())
      return emitOpError() << "has " << getStarts()->size() << " starts for " << ranks << " ranks of "
                           << type.getRank() << " dimensions";
    if (getRankValues() && static_cast<int64_t>(getRankValues()->size()) != ranks)
      return emitOpError() << "has " << getRankValues()->size() << " values for " << ranks << " ranks";
  }
  return success();
}

LogicalResult ViewOp::verify() {
  auto buffer = getBuffer().getDefiningOp<BufferOp>();
  if (!buffer)
    return emitOpError("is not of a buffer: views of views are joined");
  MemRefType type = getType();
  SmallVector<int64_t> strides;
  int64_t last;
  if (failed(type.getStridesAndOffset(strides, last)) || ShapedType::isDynamic(last))
    return emitOpError() << "has type " << type << ", expected static offset and strides";
  int64_t first = last;
  if (getRankOffsets()) {
    auto program = dyn_cast<ProgramOp>((*this)->getParentOp());
    if (program && getRankOffsets()->size() != program.getRanks().size())
      return emitOpError() << "has " << getRankOffsets()->size() << " offsets for "
                           << program.getRanks().size() << " ranks";
    if (getRankOffsets()->empty() || *llvm::min_element(*getRankOffsets()) < 0)
      return emitOpError("has no offsets, or negative ones");
    last += *llvm::max_element(*getRankOffsets());
  }
  for (auto [size, stride] : llvm::zip(type.getShape(), strides))
    last += (size - 1) * stride;
  int64_t capacity = buffer.getType().getNumElements();
  if (type.getElementType() != buffer.getType().getElementType() && buffer.getKind() != BufferKind::Temporary)
    return emitOpError() << "sees " << buffer.getType().getElementType() << " as " << type.getElementType();
  if (first < 0 || (type.getNumElements() > 0 && last >= capacity))
    return emitOpError() << "reaches element " << last << " of a buffer of " << capacity;
  return success();
}

LogicalResult LibraryOp::verify() {
  for (NamedAttribute attribute : getIntegers())
    if (!isa<DenseI64ArrayAttr>(attribute.getValue()))
      return emitOpError() << "integers: " << attribute.getName() << " is " << attribute.getValue()
                           << ", expected array<i64: ...>";
  for (NamedAttribute attribute : getFloats())
    if (!isa<DenseF64ArrayAttr>(attribute.getValue()))
      return emitOpError() << "floats: " << attribute.getName() << " is " << attribute.getValue()
                           << ", expected array<f64: ...>";
  return success();
}

LogicalResult FillOp::verify() {
  if (!isDense(cast<MemRefType>(getMemory().getType())))
    return emitOpError() << "fills " << getMemory().getType() << ", expected dense memory";
  return success();
}

LogicalResult CopyOp::verify() {
  auto from = cast<MemRefType>(getFrom().getType()), to = cast<MemRefType>(getTo().getType());
  if (!isDense(from) || !isDense(to) || from.getElementType() != to.getElementType() ||
      from.getNumElements() != to.getNumElements())
    return emitOpError() << "copies " << from << " to " << to << "; both must be dense, of one type and size";
  return success();
}

LogicalResult CollectiveStartOp::verify() {
  static constexpr StringLiteral targets[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                              "all_to_all"};
  if (!llvm::is_contained(targets, getTarget()))
    return emitOpError() << "starts \"" << getTarget()
                         << "\", expected all_reduce, all_gather, reduce_scatter, broadcast or all_to_all";
  if ((getTarget() == "all_to_all") != static_cast<bool>(getSent()))
    return emitOpError("sends from other memory than it works on if, and only if, it is an all_to_all");
  for (Value memory : {getMemory(), getSent()}) {
    if (!memory)
      continue;
    if (!isDense(cast<MemRefType>(memory.getType())))
      return emitOpError() << "works on " << memory.getType() << ", expected dense memory";
    BufferOp buffer = getBuffer(memory);
    if (!buffer || buffer.getSegment() != Segment::Shared)
      return emitOpError("works on memory that is not in the shared segment");
  }
  for (Attribute group : getGroups())
    if (!isa<DenseI64ArrayAttr>(group))
      return emitOpError() << "has the group " << group << ", expected array<i64: ...>";
  if (!getToken().hasOneUse())
    return emitOpError("must be ended by exactly one rt.collective_done");
  return success();
}

template <typename OpT> static LogicalResult verifyMessage(OpT op) {
  if (!isDense(cast<MemRefType>(op.getMemory().getType())))
    return op.emitOpError() << "works on " << op.getMemory().getType() << ", expected dense memory";
  auto program = dyn_cast<ProgramOp>(op->getParentOp());
  if (program && op.getPeers().size() != program.getRanks().size())
    return op.emitOpError() << "has " << op.getPeers().size() << " peers for " << program.getRanks().size()
                            << " ranks";
  if (program)
    for (auto [peer, rank] : llvm::zip(op.getPeers(), program.getRanks()))
      if (peer == rank || peer < 0)
        return op.emitOpError() << "has the peer " << peer << " for rank " << rank;
  if (!op.getToken().hasOneUse())
    return op.emitOpError("must be ended by exactly one rt.collective_done");
  return success();
}
LogicalResult SendStartOp::verify() { return verifyMessage(*this); }
LogicalResult ReceiveStartOp::verify() { return verifyMessage(*this); }

LogicalResult CollectiveDoneOp::verify() {
  Operation *start = getToken().getDefiningOp();
  if (!isa_and_nonnull<CollectiveStartOp, SendStartOp, ReceiveStartOp>(start))
    return emitOpError("ends what no rt.collective_start, rt.send_start or rt.receive_start has started");
  return success();
}

#define GET_OP_CLASSES
#include "dialects/rt/IR/RtOps.cpp.inc"
