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

LogicalResult StepLowering::createProgram() {
  auto attr = step->getAttrOfType<DenseI64ArrayAttr>(dist::kRanksAttr);
  if (!attr)
    return step.emitOpError("is not partitioned: it has no attribute dist.ranks");
  ranks.assign(attr.asArrayRef().begin(), attr.asArrayRef().end());
  if (auto name = step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr))
    mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(step, name);
  int64_t batch = 0, local = 0;
  SmallVector<int64_t> starts(ranks.size(), 0);
  for (unsigned i = 0; i < step.getNumArguments() && batch == 0; ++i) {
    if (stringIn(step.getArgAttrDict(i), "nn.role") != "input")
      continue;
    local = cast<RankedTensorType>(step.getArgumentTypes()[i]).getDimSize(0);
    auto global = step.getArgAttrOfType<TypeAttr>(i, dist::kGlobalAttr);
    batch = global ? cast<RankedTensorType>(global.getValue()).getDimSize(0) : local;
    auto layout = step.getArgAttrOfType<dist::LayoutAttr>(i, dist::kLayoutAttr);
    if (!layout || !mesh || !layout.isSplit(0))
      continue;
    for (auto [start, rank] : llvm::zip(starts, ranks))
      start = dist::shardStart(batch, layout.getBlocks()[0], mesh.getParts(layout.getAxes(0)),
                               mesh.getPart(layout.getAxes(0), rank));
  }
  bool reference = step->hasAttr(dist::kReferenceAttr);
  b.setInsertionPoint(step);
  program = rt::ProgramOp::create(b, step.getLoc(), step.getSymName(),
                                  reference ? "reference_gradient" : step.getKind(), ranks, batch, local,
                                  starts, IntegerAttr(), IntegerAttr());
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
  auto global = attributes ? attributes.getAs<TypeAttr>(dist::kGlobalAttr) : TypeAttr();
  auto layout = attributes ? attributes.getAs<dist::LayoutAttr>(dist::kLayoutAttr) : dist::LayoutAttr();
  ArrayRef<int64_t> shape = global ? cast<RankedTensorType>(global.getValue()).getShape() : type.getShape();
  SmallVector<int64_t> starts;
  for (int64_t rank : ranks)
    for (int64_t d = 0; d < type.getRank(); ++d)
      starts.push_back(layout && mesh && layout.isSplit(d)
                           ? dist::shardStart(shape[d], layout.getBlocks()[d],
                                              mesh.getParts(layout.getAxes(d)),
                                              mesh.getPart(layout.getAxes(d), rank))
                           : 0);
  buffer.setGlobalShape(shape);
  buffer.setStarts(starts);
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
