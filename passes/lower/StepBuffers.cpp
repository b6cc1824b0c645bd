//===- StepBuffers.cpp - buffers and views of a rank program --------------===//

#include "passes/lower/StepLowering.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

static StringRef stringIn(DictionaryAttr attributes, StringRef name) {
  auto attr = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return attr ? attr.getValue() : StringRef();
}

StepLowering::StepLowering(nn::StepOp step, Kernels &kernels)
    : step(step), kernels(kernels), placement(step), b(step.getContext()), buffers(step.getContext()) {}

/// Where the parts of `type` that ranks hold begin, rank by rank; inputs in samples of the whole batch.
SmallVector<int64_t> StepLowering::globalStarts(DictionaryAttr attributes, RankedTensorType whole) {
  auto layout = attributes ? attributes.getAs<dist::LayoutAttr>(dist::kLayoutAttr) : dist::LayoutAttr();
  auto first = attributes ? attributes.getAs<IntegerAttr>(dist::kBatchPartAttr) : IntegerAttr();
  SmallVector<int64_t> starts;
  for (int64_t rank : ranks)
    for (int64_t d = 0; d < whole.getRank(); ++d) {
      int64_t start = d == 0 && first ? first.getInt() : 0;
      if (layout && mesh && layout.isSplit(d))
        start += dist::shardStart(whole.getDimSize(d), layout.getBlocks()[d], mesh.getParts(layout.getAxes(d)),
                                  mesh.getPart(layout.getAxes(d), rank));
      starts.push_back(start);
    }
  return starts;
}

/// An argument's or result's type on one device; of an input, that of its micro-batch.
static RankedTensorType wholeType(DictionaryAttr attributes, RankedTensorType local) {
  auto global = attributes ? attributes.getAs<TypeAttr>(dist::kGlobalAttr) : TypeAttr();
  return global ? cast<RankedTensorType>(global.getValue()) : local;
}

/// Of the first input that the step has, in all of its micro-batches.
StepLowering::SampleRange StepLowering::samplesOfRanks() {
  SampleRange samples{0, 0, SmallVector<int64_t>(ranks.size(), 0)};
  StringRef input;
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
    DictionaryAttr attributes = step.getArgAttrDict(index);
    StringRef name = stringIn(attributes, "nn.name");
    if (stringIn(attributes, "nn.role") != "input" || (samples.local > 0 && name != input))
      continue;
    auto local = cast<RankedTensorType>(type);
    RankedTensorType whole = wholeType(attributes, local);
    if (samples.local == 0) {
      SmallVector<int64_t> starts = globalStarts(attributes, whole);
      for (size_t rank = 0; rank < ranks.size(); ++rank)
        samples.starts[rank] = starts[rank * whole.getRank()];
      samples.batch = whole.getDimSize(0);
      input = name;
    }
    samples.local += local.getDimSize(0);
  }
  if (auto batch = step->getAttrOfType<IntegerAttr>(dist::kBatchAttr))
    samples.batch = batch.getInt();
  return samples;
}

/// Micro-batches lie in the batch.
LogicalResult StepLowering::checkBatchParts() {
  auto batch = step->getAttrOfType<IntegerAttr>(dist::kBatchAttr);
  for (auto [index, type] : llvm::enumerate(step.getArgumentTypes())) {
    auto first = step.getArgAttrOfType<IntegerAttr>(index, dist::kBatchPartAttr);
    if (!first)
      continue;
    RankedTensorType whole = wholeType(step.getArgAttrDict(index), cast<RankedTensorType>(type));
    int64_t end = whole.getRank() ? first.getInt() + whole.getDimSize(0) : -1;
    if (!batch || first.getInt() < 0 || end < 0 || end > batch.getInt())
      return step.emitOpError() << "argument " << index << " has samples [" << first.getInt() << ", " << end
                                << ") of the batch (" << dist::kBatchPartAttr << "), expected some of the "
                                << (batch ? batch.getInt() : 0) << " that the step states (" << dist::kBatchAttr << ")";
  }
  return success();
}

LogicalResult StepLowering::createProgram() {
  auto attr = step->getAttrOfType<DenseI64ArrayAttr>(dist::kRanksAttr);
  if (!attr)
    return step.emitOpError("is not partitioned: it has no attribute dist.ranks");
  ranks.assign(attr.asArrayRef().begin(), attr.asArrayRef().end());
  if (auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr))
    mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, name);
  if (failed(checkBatchParts()))
    return failure();
  SampleRange samples = samplesOfRanks();
  bool reference = step->hasAttr(dist::kReferenceAttr);
  b.setInsertionPoint(step);
  program = rt::ProgramOp::create(b, step.getLoc(), step.getSymName(),
                                  reference ? "reference_gradient" : step.getKind(), ranks, samples.batch,
                                  samples.local, samples.starts, IntegerAttr(), IntegerAttr());
  Block *body = b.createBlock(&program.getBody());
  buffers.setInsertionPointToStart(body);
  b.setInsertionPointToEnd(body);
  return success();
}

rt::BufferOp StepLowering::createBuffer(rt::BufferKind kind, rt::Segment segment, StringRef name,
                                        ArrayRef<int64_t> shape, Type elementType) {
  OperationState state(step.getLoc(), rt::BufferOp::getOperationName());
  MLIRContext *context = b.getContext();
  state.addAttribute("kind", rt::BufferKindAttr::get(context, kind));
  state.addAttribute("segment", rt::SegmentAttr::get(context, segment));
  state.addAttribute("name", b.getStringAttr(name));
  state.addTypes(MemRefType::get(shape, elementType));
  auto buffer = cast<rt::BufferOp>(buffers.create(state));
  buffers.setInsertionPointAfter(buffer);
  return buffer;
}

void StepLowering::setGlobalPlace(rt::BufferOp buffer, DictionaryAttr attributes, RankedTensorType type) {
  RankedTensorType whole = wholeType(attributes, type);
  SmallVector<int64_t> shape(whole.getShape());
  if (attributes && attributes.contains(dist::kBatchPartAttr))
    shape[0] = step->getAttrOfType<IntegerAttr>(dist::kBatchAttr).getInt();
  buffer.setGlobalShape(shape);
  buffer.setStarts(globalStarts(attributes, whole));
}

LogicalResult StepLowering::createArgument(BlockArgument argument) {
  DictionaryAttr attributes = step.getArgAttrDict(argument.getArgNumber());
  StringRef role = stringIn(attributes, "nn.role"), name = stringIn(attributes, "nn.name");
  auto type = cast<RankedTensorType>(argument.getType());
  rt::BufferKind kind;
  if (role == "parameter")
    kind = rt::BufferKind::Parameter;
  else if (role == "optimizer_state")
    kind = rt::BufferKind::OptimizerState;
  else if (role == "state")
    kind = rt::BufferKind::State;
  else if (role == "input")
    kind = rt::BufferKind::Input;
  else if (role == "learning_rate" || role == "step" || role == "seed")
    kind = rt::BufferKind::ScalarInput, name = role;
  else
    return step.emitOpError()
           << "argument " << argument.getArgNumber() << " has the role \"" << role
           << "\", expected parameter, optimizer_state, state, input, learning_rate, step or seed";
  rt::BufferOp buffer =
      createBuffer(kind, rt::Segment::Private, name, type.getShape(), type.getElementType());
  if (kind != rt::BufferKind::ScalarInput)
    setGlobalPlace(buffer, attributes, type);
  if (buffer.isPersistent()) {
    if (Attribute init = attributes.get("nn.init"))
      buffer.setInitAttr(init);
    if (auto declared = attributes.getAs<DenseI64ArrayAttr>("nn.declared_shape"))
      buffer.setDeclaredShapeAttr(declared);
    if (StringRef slot = stringIn(attributes, "nn.slot"); !slot.empty())
      buffer.setSlot(slot);
  }
  places[argument] = {buffer, Strided::dense(type.getShape())};
  return success();
}

Place StepLowering::newPlace(Value value, StringRef label) {
  auto type = cast<RankedTensorType>(value.getType());
  rt::BufferKind kind = placement.isGradient(value) ? rt::BufferKind::Gradient : rt::BufferKind::Activation;
  return {createBuffer(kind, rt::Segment::Private, label, type.getShape(), type.getElementType()),
          Strided::dense(type.getShape())};
}

Value StepLowering::memory(const Place &place) {
  finishPending(place.buffer);
  return viewOf(place);
}

Value StepLowering::viewOf(const Place &place) {
  rt::BufferOp buffer = place.buffer;
  MemRefType type = buffer.getType();
  if (place.view == Strided::dense(type.getShape()))
    return buffer;
  bool plain = place.view.offset == 0 && place.view.isDense();
  auto viewType =
      plain ? MemRefType::get(place.view.shape, type.getElementType())
            : MemRefType::get(place.view.shape, type.getElementType(),
                              StridedLayoutAttr::get(b.getContext(), place.view.offset, place.view.strides));
  auto rankOffsets =
      place.view.rankOffsets.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(place.view.rankOffsets);
  Value &view = views[{buffer, viewType, rankOffsets}];
  if (!view)
    view = rt::ViewOp::create(b, buffer.getLoc(), viewType, buffer, rankOffsets);
  return view;
}

Value StepLowering::written(const Place &place) {
  finishSends(place.buffer);
  return memory(place);
}

void StepLowering::copy(const Place &from, const Place &to, StringRef label) {
  Value source = memory(from), target = written(to);
  auto type = cast<MemRefType>(source.getType());
  double bytes = 2.0 * type.getNumElements() * rt::elementBytes(type.getElementType());
  if (from.view.isDense() && to.view.isDense()) {
    rt::CopyOp::create(b, step.getLoc(), source, target, b.getStringAttr(label), number(0), number(bytes));
    return;
  }
  rt::LibraryOp::create(b, step.getLoc(), b.getStringAttr("copy_view"), b.getStringAttr(label), number(0),
                        number(bytes), b.getDictionaryAttr({}), b.getDictionaryAttr({}), ValueRange(source),
                        ValueRange(target), Value());
}

Value StepLowering::denseCopy(Value value) {
  auto [entry, inserted] = copies.try_emplace(value);
  if (inserted) {
    Operation *op = value.getDefiningOp();
    std::string label = op ? labelOf(op, "copy") : "copy";
    Place dense = newPlace(value, label);
    copies[value] = dense;
    copy(places[value], dense, label);
  }
  return value;
}
