//===- StepLowering.cpp - one step becomes one rank program ---------------===//

#include "passes/lower/StepLowering.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

//===----------------------------------------------------------------------===//
// Names and costs
//===----------------------------------------------------------------------===//

static StringRef nameAt(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = nameAt(part); !name.empty())
        return name;
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nameAt(call.getCallee());
  return "";
}

std::string passes::labelOf(Operation *op, StringRef what) {
  StringRef name = nameAt(op->getLoc());
  return name.empty() ? what.str() : (name + " " + what).str();
}

static nn::OpCost costOf(Operation *op) {
  if (auto cost = dyn_cast<nn::CostOpInterface>(op))
    return cost.getCost();
  nn::OpCost cost = nn::streamingCost(op);
  op->walk([&](nn::CostOpInterface part) { cost.flops += part.getCost().flops; });
  return cost;
}

//===----------------------------------------------------------------------===//
// Where values are computed
//===----------------------------------------------------------------------===//

/// Reverse order: where a value goes is known before its own parts are placed into it.
void StepLowering::choosePlaces() {
  for (Operation &op : llvm::reverse(step.getBody().front())) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      placeOutputs(&op);
    else if (isa<dist::DistDialect>(op.getDialect()))
      placeCommunicated(&op);
    else if (auto concat = dyn_cast<nn::ConcatOp>(op))
      placeParts(concat);
  }
}

/// Has the value computed in `place` if an op makes it that can write there.
void StepLowering::tryPlace(Value value, Place place) {
  Operation *op = value.getDefiningOp();
  while (op && isa<nn::ReshapeOp>(op)) {
    if (!place.view.isDense())
      return;
    value = op->getOperand(0);
    place.view = *place.view.reshaped(cast<RankedTensorType>(value.getType()).getShape());
    op = value.getDefiningOp();
  }
  if (!op || destinations.contains(value))
    return;
  bool can = isa<nn::ConcatOp>(op);
  if (auto fusion = dyn_cast<nn::FusionOp>(op))
    can = !placement.donatedOperand(fusion, cast<OpResult>(value).getResultNumber());
  else if (auto library = dyn_cast<nn::LibraryOpInterface>(op)) {
    nn::LibraryCall call = library.getLibraryCall();
    can = place.view.isDense() || (call.stridedOperands && !call.zeroResults);
  } else if (isa<nn::PadOp>(op))
    can = place.view.isDense();
  if (can)
    destinations[value] = place;
}

void StepLowering::placeOutputs(Operation *terminator) {
  outputs.resize(terminator->getNumOperands());
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (placement.updatedArgument(index))
      continue;
    DictionaryAttr attributes = step.getResultAttrDict(index);
    auto name = attributes ? attributes.getAs<StringAttr>("nn.name") : StringAttr();
    auto role = attributes ? attributes.getAs<StringAttr>("nn.role") : StringAttr();
    auto type = cast<RankedTensorType>(operand.get().getType());
    rt::BufferOp buffer = createBuffer(rt::BufferKind::Output, rt::Segment::Private,
                                       name   ? name.getValue()
                                       : role ? role.getValue()
                                              : "",
                                       type.getShape(), type.getElementType());
    setGlobalPlace(buffer, attributes, type);
    auto layout = attributes ? attributes.getAs<dist::LayoutAttr>(dist::kLayoutAttr) : dist::LayoutAttr();
    buffer.setSharded(layout && mesh && !layout.isReplicated());
    buffer.setGradient(role && role.getValue() == "gradient");
    outputs[index] = buffer;
    tryPlace(operand.get(), {buffer, Strided::dense(type.getShape())});
  }
}

void StepLowering::placeParts(nn::ConcatOp concat) {
  Place &whole = destinations[concat.getResult()];
  if (!whole.buffer)
    whole = newPlace(concat.getResult(), labelOf(concat, "concat"));
  Place place = whole;
  SmallVector<int64_t> offsets(place.view.shape.size(), 0);
  std::vector<Place> pieces;
  for (Value input : concat.getInputs()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(input.getType()).getShape();
    pieces.push_back({place.buffer, place.view.sliced(offsets, shape, {})});
    offsets[concat.getAxis()] += shape[concat.getAxis()];
    if (placement.usedOnlyBy(input, concat))
      tryPlace(input, pieces.back());
  }
  slots[concat] = pieces;
}

Place StepLowering::resultPlace(Value result, StringRef label) {
  auto found = destinations.find(result);
  return found == destinations.end() ? newPlace(result, label) : found->second;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult StepLowering::run() {
  if (failed(createProgram()))
    return failure();
  for (BlockArgument argument : step.getBody().getArguments())
    if (failed(createArgument(argument)))
      return failure();
  choosePlaces();
  for (Operation &op : step.getBody().front())
    if (failed(lower(&op)))
      return failure();
  return success();
}

LogicalResult StepLowering::lower(Operation *op) {
  if (auto constant = dyn_cast<nn::ConstantOp>(op))
    return lowerConstant(constant);
  if (auto fusion = dyn_cast<nn::FusionOp>(op))
    return lowerFusion(fusion);
  if (auto library = dyn_cast<nn::LibraryOpInterface>(op))
    return lowerLibrary(library);
  if (isViewOp(op))
    return lowerView(op);
  if (auto concat = dyn_cast<nn::ConcatOp>(op))
    return lowerConcat(concat);
  if (auto pad = dyn_cast<nn::PadOp>(op))
    return lowerPad(pad);
  if (auto exchange = dyn_cast<dist::HaloExchangeOp>(op))
    return lowerHaloExchange(exchange);
  if (isa<dist::TaskOp>(op))
    return success();
  if (isa<dist::SendOp, dist::SendWaitOp, dist::ReceiveOp>(op))
    return lowerMessage(op);
  if (isa<dist::DistDialect>(op->getDialect()))
    return lowerCollective(op);
  if (op->hasTrait<OpTrait::IsTerminator>())
    return lowerReturn(op);
  return op->emitOpError("is neither in a fusion nor a library call nor a view: fuse must run before lower");
}

LogicalResult StepLowering::lowerConstant(nn::ConstantOp constant) {
  auto [entry, inserted] = constants.try_emplace(constant.getValueAttr());
  if (inserted) {
    auto type = cast<RankedTensorType>(constant.getType());
    auto value = cast<ElementsAttr>(constant.getValueAttr());
    rt::BufferOp buffer = createBuffer(rt::BufferKind::Constant, rt::Segment::Private,
                                       labelOf(constant, "constant"), type.getShape(), type.getElementType());
    buffer.setValueAttr(value);
    entry->second = {buffer, Strided::dense(type.getShape())};
  }
  places[constant.getResult()] = entry->second;
  return success();
}

LogicalResult StepLowering::lowerFusion(nn::FusionOp fusion) {
  std::string label = fusion.getLabel().empty() ? labelOf(fusion, "fusion") : fusion.getLabel().str();
  SmallVector<Value> reads, writes;
  SmallVector<MemRefType> types;
  for (Value operand : fusion.getOperands()) {
    reads.push_back(memory(places[operand]));
    types.push_back(cast<MemRefType>(reads.back().getType()));
  }
  SmallVector<Attribute> donate;
  SmallVector<int64_t> updates; // operands in whose place a result is computed
  for (OpResult result : fusion->getResults()) {
    if (Attribute pair = placement.donatedPair(fusion, result.getResultNumber())) {
      Value operand = placement.donatedOperand(fusion, result.getResultNumber());
      finishSends(places[operand].buffer);
      donate.push_back(pair);
      updates.push_back(std::distance(fusion->operand_begin(), llvm::find(fusion->getOperands(), operand)));
      places[result] = Place(places[operand]);
      continue;
    }
    Place place = resultPlace(result, label);
    places[result] = place;
    writes.push_back(written(place));
    types.push_back(cast<MemRefType>(writes.back().getType()));
  }
  nn::OpCost cost = costOf(fusion);
  rt::KernelOp::create(b, fusion.getLoc(), kernels.define(fusion, types, donate), b.getStringAttr(label),
                       number(cost.flops), number(cost.bytesRead + cost.bytesWritten),
                       b.getDenseI64ArrayAttr(updates), reads, writes);
  return success();
}

/// Library calls want unit stride in one of the two innermost dimensions, as BLAS does.
static bool hasUnitStride(const Strided &view) {
  size_t rank = view.shape.size();
  for (size_t d = rank < 2 ? 0 : rank - 2; d < rank; ++d)
    if (view.strides[d] == 1 || view.shape[d] == 1)
      return true;
  return rank == 0;
}

std::optional<Place> StepLowering::libraryView(const Place &place, const nn::LibraryCall &call,
                                               ArrayRef<SmallVector<int64_t, 4>> dims) {
  if (!call.stridedOperands && !place.view.isDense())
    return std::nullopt;
  std::optional<Strided> view = place.view.collapsed(dims);
  if (!view || (call.stridedOperands && !hasUnitStride(*view)))
    return std::nullopt;
  return Place{place.buffer, *view};
}

LogicalResult StepLowering::lowerLibrary(nn::LibraryOpInterface op) {
  nn::LibraryCall call = op.getLibraryCall();
  std::string label = labelOf(op, call.name);
  SmallVector<nn::LibraryOperand> operands(call.operands.begin(), call.operands.end());
  if (operands.empty()) {
    for (unsigned i = 0; i < op->getNumOperands() + op->getNumResults(); ++i) {
      Value value = i < op->getNumOperands() ? op->getOperand(i) : op->getResult(i - op->getNumOperands());
      nn::LibraryOperand &whole = operands.emplace_back();
      whole.value = i;
      for (int64_t d = 0; d < cast<RankedTensorType>(value.getType()).getRank(); ++d)
        whole.dims.push_back({d});
    }
  }
  SmallVector<Value> reads, writes;
  std::vector<std::pair<Place, Place>> after; // results to be copied to where they belong
  for (const nn::LibraryOperand &operand : operands) {
    if (operand.value < op->getNumOperands()) {
      Value value = op->getOperand(operand.value);
      std::optional<Place> view = libraryView(places[value], call, operand.dims);
      if (!view) {
        denseCopy(value);
        view = libraryView(copies[value], call, operand.dims);
      }
      if (!view)
        return op.emitOpError() << "operand " << operand.value << " has no memory layout that the call '"
                                << call.name << "' takes";
      reads.push_back(memory(*view));
      continue;
    }
    Value result = op->getResult(operand.value - op->getNumOperands());
    Place place = resultPlace(result, label);
    places[result] = place;
    std::optional<Place> view = libraryView(place, call, operand.dims);
    if (!view) {
      Place dense = newPlace(result, label);
      after.push_back({dense, place});
      view = libraryView(dense, call, operand.dims);
    }
    if (!view)
      return op.emitOpError() << "its result has no memory layout that the call '" << call.name << "' writes";
    writes.push_back(written(*view));
    if (call.zeroResults)
      rt::FillOp::create(b, op.getLoc(), written(after.empty() ? place : after.back().first),
                         b.getStringAttr(labelOf(op, "fill")), number(0),
                         number(nn::streamingCost(op).bytesWritten));
  }
  SmallVector<NamedAttribute> integers, floats;
  for (auto &[name, values] : call.integers)
    integers.push_back(b.getNamedAttr(name, b.getDenseI64ArrayAttr(values)));
  for (auto &[name, values] : call.floats)
    floats.push_back(b.getNamedAttr(name, b.getDenseF64ArrayAttr(values)));
  nn::OpCost cost = costOf(op);
  rt::LibraryOp::create(b, op.getLoc(), b.getStringAttr(call.name), b.getStringAttr(label),
                        number(cost.flops), number(cost.bytesRead + cost.bytesWritten),
                        b.getDictionaryAttr(integers), b.getDictionaryAttr(floats), reads, writes, Value());
  for (auto &[from, to] : after)
    copy(from, to, labelOf(op, "copy"));
  return success();
}

LogicalResult StepLowering::lowerView(Operation *op) {
  Value input = op->getOperand(0);
  Place place = places[input];
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    place.view = place.view.transposed(transpose.getPermutation());
  } else if (auto slice = dyn_cast<nn::SliceOp>(op)) {
    place.view = place.view.sliced(slice.getOffsets(), type.getShape(), slice.getStrides());
  } else if (auto part = dyn_cast<dist::SliceOp>(op)) {
    place.view = sliceView(part, place.view);
  } else {
    std::optional<Strided> view = place.view.reshaped(type.getShape());
    if (!view) {
      denseCopy(input);
      place = copies[input];
      view = place.view.reshaped(type.getShape());
    }
    place.view = *view;
  }
  places[op->getResult(0)] = place;
  return success();
}

LogicalResult StepLowering::lowerConcat(nn::ConcatOp concat) {
  for (auto [input, piece] : llvm::zip(concat.getInputs(), slots[concat]))
    if (Place &place = places[input]; place.buffer != piece.buffer || place.view != piece.view)
      copy(place, piece, labelOf(concat, "concat"));
  places[concat.getResult()] = destinations[concat.getResult()];
  return success();
}

LogicalResult StepLowering::lowerPad(nn::PadOp pad) {
  if (pad.getValue().convertToDouble() != 0)
    return pad.emitOpError() << "with the value " << pad.getValue().convertToDouble()
                             << " cannot be lowered outside of a fusion yet; only zeros can";
  std::string label = labelOf(pad, "pad");
  Place place = resultPlace(pad.getResult(), label);
  rt::FillOp::create(b, pad.getLoc(), written(place), b.getStringAttr(label), number(0),
                     number(nn::streamingCost(pad).bytesWritten));
  ArrayRef<int64_t> shape = cast<RankedTensorType>(pad.getInput().getType()).getShape();
  copy(places[pad.getInput()], {place.buffer, place.view.sliced(pad.getLow(), shape, {})}, label);
  places[pad.getResult()] = place;
  return success();
}

LogicalResult StepLowering::lowerReturn(Operation *terminator) {
  std::vector<std::tuple<Place, Place, std::string>> writes;
  for (OpOperand &operand : terminator->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    Place from = places[operand.get()], to;
    if (Value argument = placement.updatedArgument(index))
      to = places[argument];
    else
      to = {outputs[index], Strided::dense(outputs[index].getType().getShape())};
    if (from.buffer == to.buffer && from.view == to.view)
      continue;
    // Another persistent buffer may be about to get its own new value.
    if (from.buffer.isPersistent() && to.buffer.isPersistent()) {
      denseCopy(operand.get());
      from = copies[operand.get()];
    }
    writes.emplace_back(from, to, to.buffer.getName().str() + " copy");
  }
  for (auto &[from, to, label] : writes)
    copy(from, to, label);
  // Nothing is in flight at the end of a program.
  for (Operation &op : llvm::make_early_inc_range(*b.getInsertionBlock()))
    if (auto buffer = dyn_cast<rt::BufferOp>(op)) {
      finishSends(buffer);
      finishPending(buffer);
    }
  return success();
}
