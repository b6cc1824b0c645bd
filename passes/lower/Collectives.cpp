//===- Collectives.cpp - collectives in shared memory ---------------------===//
//
// Communicators work on dense shared memory in which the members' parts follow each other (runtime/comm):
//
//   all_gather      in place: each member's part lies where it belongs       [ 0 | 1 | 2 ]
//   reduce_scatter  in place: each member's part is complete afterwards       [ . | 1 | . ]
//   all_to_all      from blocks by receiver to blocks by sender
//
// Where the dimension that is joined or split is the outermost (those before it have size one), these are the
// tensors themselves, and the op that computes the operand writes right into shared memory. Else parts are copied
// there, or from there, one strided copy each.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/StepLowering.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// The ranks that work together, and which of them the program's ranks are.
struct StepLowering::Members {
  SmallVector<Attribute> groups;
  SmallVector<int64_t> index; // per rank of the program
  int64_t count;
};

StepLowering::Members StepLowering::membersOf(Operation *op, FlatSymbolRefAttr meshName, ArrayAttr axes) {
  auto opMesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(op, meshName);
  Members members{{}, {}, opMesh.getParts(axes)};
  for (ArrayRef<int64_t> group : opMesh.getGroups(axes))
    members.groups.push_back(b.getDenseI64ArrayAttr(group));
  for (int64_t rank : ranks)
    members.index.push_back(opMesh.getPart(axes, rank));
  return members;
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

static bool isOutermost(RankedTensorType type, int64_t dim) {
  return llvm::all_of(type.getShape().take_front(dim), [](int64_t size) { return size == 1; });
}

/// Elements per index of the dimension.
static int64_t unitOf(RankedTensorType type, int64_t dim) {
  return type.getNumElements() / type.getDimSize(dim);
}

/// Where each member's part begins, times `unit`.
static SmallVector<int64_t> startsOf(ArrayRef<int64_t> sizes, int64_t unit) {
  SmallVector<int64_t> starts;
  int64_t next = 0;
  for (int64_t size : sizes) {
    starts.push_back(next * unit);
    next += size;
  }
  return starts;
}

static SmallVector<int64_t> scaled(ArrayRef<int64_t> sizes, int64_t unit) {
  return llvm::map_to_vector(sizes, [&](int64_t size) { return size * unit; });
}

/// Of the starts of all members, those of the program's ranks.
static SmallVector<int64_t> pick(ArrayRef<int64_t> starts, ArrayRef<int64_t> index) {
  return llvm::map_to_vector(index, [&](int64_t member) { return starts[member]; });
}

static SmallVector<int64_t> withSize(ArrayRef<int64_t> shape, int64_t dim, int64_t size) {
  SmallVector<int64_t> changed(shape);
  changed[dim] = size;
  return changed;
}

/// Communicators exchange blocks of one size. Elements of the largest, to which all are padded; 0 where all are equal.
static int64_t paddedBlock(dist::AllToAllOp exchange, int64_t members) {
  SmallVector<int64_t> split = exchange.getMemberSplitSizes(members);
  SmallVector<int64_t> concat = exchange.getMemberConcatSizes(members);
  if (llvm::all_equal(split) && llvm::all_equal(concat))
    return 0;
  RankedTensorType result = exchange.getType();
  int64_t rest = unitOf(result, exchange.getConcatDim()) / result.getDimSize(exchange.getSplitDim());
  return *llvm::max_element(split) * *llvm::max_element(concat) * rest;
}

//===----------------------------------------------------------------------===//
// Where operands are computed
//===----------------------------------------------------------------------===//

/// All operands in one piece of shared memory. Pieces whose size keeps the next one aligned to 64 bytes come
/// first.
void StepLowering::placeReduced(dist::AllReduceOp reduce) {
  SmallVector<unsigned> order;
  SmallVector<int64_t> sizes;
  int64_t total = 0;
  for (Value input : reduce.getInputs()) {
    sizes.push_back(typeOf(input).getNumElements());
    order.push_back(order.size());
    total += sizes.back();
  }
  RankedTensorType type = typeOf(reduce.getInputs()[0]);
  int64_t line = std::max<int64_t>(1, 64 / rt::elementBytes(type.getElementType()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    bool keepsA = sizes[a] % line == 0, keepsB = sizes[b] % line == 0;
    return keepsA != keepsB ? keepsA : a < b;
  });
  auto bucket = reduce.getBucket();
  std::string name = bucket ? "bucket " + std::to_string(*bucket) : labelOf(reduce, "all_reduce");
  rt::BufferOp buffer = createBuffer(bucket ? rt::BufferKind::Gradient : rt::BufferKind::Activation,
                                     rt::Segment::Shared, name, {total}, type.getElementType());
  std::vector<Place> pieces(sizes.size());
  int64_t offset = 0;
  for (unsigned i : order) {
    Value input = reduce.getInputs()[i];
    pieces[i] = {buffer, Strided::dense(typeOf(input).getShape(), offset)};
    offset += sizes[i];
    // The collective overwrites what it reads.
    if (placement.usedLastBy(input, reduce))
      tryPlace(input, pieces[i]);
  }
  slots[reduce] = pieces;
}

/// Makes the shared memory of a collective; has its operand computed there where that is its layout.
void StepLowering::placeCommunicated(Operation *op) {
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    return placeReduced(reduce);
  auto shared = [&](StringRef what, int64_t elements) {
    return createBuffer(rt::BufferKind::Activation, rt::Segment::Shared, labelOf(op, what), {elements},
                        typeOf(op->getOperand(0)).getElementType());
  };
  auto use = [&](Place place, bool direct) {
    slots[op].push_back(place);
    // The buffer takes what comes later, too.
    if (direct && placement.usedLastBy(op->getOperand(0), op))
      tryPlace(op->getOperand(0), place);
  };
  if (auto gather = dyn_cast<dist::AllGatherOp>(op)) {
    Members members = membersOf(op, gather.getMeshAttr(), gather.getAxes());
    RankedTensorType part = gather.getInput().getType(), whole = gather.getType();
    SmallVector<int64_t> starts =
        startsOf(gather.getMemberSizes(members.count), unitOf(whole, gather.getDim()));
    rt::BufferOp buffer = shared("all_gather", whole.getNumElements());
    use({buffer, Strided::dense(part.getShape()).shifted(pick(starts, members.index))}, true);
  } else if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op)) {
    RankedTensorType whole = scatter.getInput().getType();
    use({shared("reduce_scatter", whole.getNumElements()), Strided::dense(whole.getShape())},
        isOutermost(whole, scatter.getDim()));
  } else if (auto exchange = dyn_cast<dist::AllToAllOp>(op)) {
    RankedTensorType input = exchange.getInput().getType();
    int64_t count = membersOf(op, exchange.getMeshAttr(), exchange.getAxes()).count;
    int64_t padded = paddedBlock(exchange, count);
    int64_t sent = padded ? padded * count : input.getNumElements();
    int64_t received = padded ? padded * count : exchange.getType().getNumElements();
    use({shared("all_to_all send", sent), Strided::dense(input.getShape())},
        !padded && isOutermost(input, exchange.getSplitDim()));
    slots[op].push_back({shared("all_to_all", received), Strided::dense({received})});
  } else if (auto broadcast = dyn_cast<dist::BroadcastOp>(op)) {
    RankedTensorType type = broadcast.getType();
    use({shared("broadcast", type.getNumElements()), Strided::dense(type.getShape())}, true);
  }
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void StepLowering::start(Operation *op, StringRef target, rt::BufferOp memory, rt::BufferOp sent,
                         const Members &members, dist::Reduction reduction, ArrayRef<int64_t> counts,
                         int64_t root) {
  std::string label = memory.getName().str();
  finishSends(memory);
  finishPending(memory);
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op); reduce && reduce.getBucket())
    label += " all_reduce";
  auto instruction = rt::CollectiveStartOp::create(
      b, op->getLoc(), rt::TokenType::get(b.getContext()), b.getStringAttr(target), b.getStringAttr(label),
      number(0), number(memory.getBytes()),
      rt::ReductionAttr::get(b.getContext(),
                             reduction == dist::Reduction::Max ? rt::Reduction::Max : rt::Reduction::Sum),
      memory, b.getArrayAttr(members.groups),
      counts.empty() ? DenseI64ArrayAttr() : b.getDenseI64ArrayAttr(counts),
      root ? b.getI64IntegerAttr(root) : IntegerAttr(), op->getAttrOfType<IntegerAttr>(dist::kOrderAttr),
      sent ? sent.getResult() : Value());
  pending[memory] = {instruction.getToken()};
  if (sent)
    pending[sent] = {instruction.getToken()};
}

void StepLowering::finishPending(rt::BufferOp buffer) {
  auto found = pending.find(buffer);
  if (found == pending.end())
    return;
  SmallVector<Value, 1> tokens = found->second;
  for (Value token : tokens)
    rt::CollectiveDoneOp::create(b, token.getLoc(), token);
  // A collective may work on another buffer, too.
  SmallVector<Operation *> ended;
  for (auto &[other, working] : pending)
    if (working == tokens)
      ended.push_back(other);
  for (Operation *other : ended)
    pending.erase(other);
}

/// Unless the value was computed there.
void StepLowering::copyInto(Value value, const Place &place, StringRef label) {
  if (Place &from = places[value]; from.buffer != place.buffer || from.view != place.view)
    copy(from, place, label);
}

/// The parts of a dimension as one dense block each, which begin `pitch` elements apart, or follow each other (0).
void StepLowering::pack(Value value, int64_t dim, ArrayRef<int64_t> sizes, rt::BufferOp buffer, int64_t pitch,
                        StringRef label) {
  Place whole = places[value];
  SmallVector<int64_t> offsets(whole.view.shape.size(), 0);
  int64_t next = 0;
  for (int64_t size : sizes) {
    SmallVector<int64_t> shape = withSize(whole.view.shape, dim, size);
    Strided block = Strided::dense(shape, next);
    copy({whole.buffer, whole.view.sliced(offsets, shape, {})}, {buffer, block}, label);
    next += pitch ? pitch : block.elements();
    offsets[dim] += size;
  }
}

/// `result` from such blocks of these shapes, joined along `dim`.
void StepLowering::unpack(rt::BufferOp buffer, ArrayRef<SmallVector<int64_t>> shapes, int64_t dim,
                          int64_t pitch, Value result, StringRef label) {
  Place whole = resultPlace(result, label);
  SmallVector<int64_t> offsets(whole.view.shape.size(), 0);
  int64_t next = 0;
  for (ArrayRef<int64_t> shape : shapes) {
    Strided block = Strided::dense(shape, next);
    copy({buffer, block}, {whole.buffer, whole.view.sliced(offsets, shape, {})}, label);
    next += pitch ? pitch : block.elements();
    offsets[dim] += shape[dim];
  }
  places[result] = whole;
}

LogicalResult StepLowering::lowerCollective(Operation *op) {
  if (auto reduce = dyn_cast<dist::AllReduceOp>(op))
    return lowerAllReduce(reduce);
  if (auto gather = dyn_cast<dist::AllGatherOp>(op))
    return lowerAllGather(gather);
  if (auto scatter = dyn_cast<dist::ReduceScatterOp>(op))
    return lowerReduceScatter(scatter);
  if (auto exchange = dyn_cast<dist::AllToAllOp>(op))
    return lowerAllToAll(exchange);
  if (auto broadcast = dyn_cast<dist::BroadcastOp>(op))
    return lowerBroadcast(broadcast);
  if (auto start = dyn_cast<dist::ShardStartOp>(op))
    return lowerShardStart(start);
  return op->emitOpError("cannot be lowered to a rank program");
}

LogicalResult StepLowering::lowerAllReduce(dist::AllReduceOp reduce) {
  std::vector<Place> &pieces = slots[reduce];
  rt::BufferOp buffer = pieces.front().buffer;
  for (auto [input, piece] : llvm::zip(reduce.getInputs(), pieces))
    copyInto(input, piece, (buffer.getName() + " copy").str());
  start(reduce, "all_reduce", buffer, {}, membersOf(reduce, reduce.getMeshAttr(), reduce.getAxes()),
        reduce.getReduction(), {}, 0);
  for (auto [result, piece] : llvm::zip(reduce.getResults(), pieces))
    places[result] = piece;
  return success();
}

LogicalResult StepLowering::lowerAllGather(dist::AllGatherOp gather) {
  Place own = slots[gather].front();
  std::string label = labelOf(gather, "all_gather");
  Members members = membersOf(gather, gather.getMeshAttr(), gather.getAxes());
  SmallVector<int64_t> sizes = gather.getMemberSizes(members.count);
  RankedTensorType whole = gather.getType();
  int64_t dim = gather.getDim();
  copyInto(gather.getInput(), own, label + " copy");
  start(gather, "all_gather", own.buffer, {}, members, dist::Reduction::Sum,
        scaled(sizes, unitOf(whole, dim)), 0);
  if (isOutermost(whole, dim)) {
    places[gather.getResult()] = {own.buffer, Strided::dense(whole.getShape())};
    return success();
  }
  SmallVector<SmallVector<int64_t>> shapes;
  for (int64_t size : sizes)
    shapes.push_back(withSize(whole.getShape(), dim, size));
  unpack(own.buffer, shapes, dim, /*pitch=*/0, gather.getResult(), label + " unpack");
  return success();
}

LogicalResult StepLowering::lowerReduceScatter(dist::ReduceScatterOp scatter) {
  Place place = slots[scatter].front();
  std::string label = labelOf(scatter, "reduce_scatter");
  Members members = membersOf(scatter, scatter.getMeshAttr(), scatter.getAxes());
  SmallVector<int64_t> sizes = scatter.getMemberSizes(members.count);
  RankedTensorType whole = scatter.getInput().getType();
  int64_t dim = scatter.getDim(), unit = unitOf(whole, dim);
  if (isOutermost(whole, dim))
    copyInto(scatter.getInput(), place, label + " copy");
  else
    pack(scatter.getInput(), dim, sizes, place.buffer, /*pitch=*/0, label + " pack");
  start(scatter, "reduce_scatter", place.buffer, {}, members, scatter.getReduction(), scaled(sizes, unit), 0);
  Strided part = Strided::dense(scatter.getType().getShape());
  places[scatter.getResult()] = {place.buffer, part.shifted(pick(startsOf(sizes, unit), members.index))};
  return success();
}

LogicalResult StepLowering::lowerAllToAll(dist::AllToAllOp exchange) {
  Place send = slots[exchange].front();
  rt::BufferOp receive = slots[exchange].back().buffer;
  std::string label = labelOf(exchange, "all_to_all");
  Members members = membersOf(exchange, exchange.getMeshAttr(), exchange.getAxes());
  RankedTensorType input = exchange.getInput().getType(), result = exchange.getType();
  int64_t split = exchange.getSplitDim(), concat = exchange.getConcatDim();
  SmallVector<int64_t> concatSizes = exchange.getMemberConcatSizes(members.count);
  int64_t padded = paddedBlock(exchange, members.count);
  if (padded) // what is between the blocks is sent, too
    rt::FillOp::create(b, exchange.getLoc(),
                       memory({send.buffer, Strided::dense(send.buffer.getType().getShape())}),
                       b.getStringAttr(label + " fill"), number(0), number(send.buffer.getBytes()));
  if (!padded && isOutermost(input, split))
    copyInto(exchange.getInput(), send, label + " copy");
  else
    pack(exchange.getInput(), split, exchange.getMemberSplitSizes(members.count), send.buffer, padded,
         label + " pack");
  start(exchange, "all_to_all", receive, send.buffer, members, dist::Reduction::Sum, {}, 0);
  if (!padded && isOutermost(result, concat)) {
    places[exchange.getResult()] = {receive, Strided::dense(result.getShape())};
    return success();
  }
  SmallVector<SmallVector<int64_t>> shapes;
  for (int64_t size : concatSizes)
    shapes.push_back(withSize(result.getShape(), concat, size));
  unpack(receive, shapes, concat, padded, exchange.getResult(), label + " unpack");
  return success();
}

LogicalResult StepLowering::lowerBroadcast(dist::BroadcastOp broadcast) {
  Place place = slots[broadcast].front();
  copyInto(broadcast.getInput(), place, labelOf(broadcast, "broadcast copy"));
  start(broadcast, "broadcast", place.buffer, {},
        membersOf(broadcast, broadcast.getMeshAttr(), broadcast.getAxes()), dist::Reduction::Sum, {},
        broadcast.getRoot());
  places[broadcast.getResult()] = place;
  return success();
}

LogicalResult StepLowering::lowerShardStart(dist::ShardStartOp start) {
  auto startMesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(start, start.getMeshAttr());
  SmallVector<int64_t> values;
  for (int64_t rank : ranks)
    values.push_back(dist::shardStart(start.getSize(), start.getBlock(), startMesh.getParts(start.getAxes()),
                                      startMesh.getPart(start.getAxes(), rank)));
  rt::BufferOp buffer =
      createBuffer(rt::BufferKind::Constant, rt::Segment::Private, "shard start", {}, b.getI64Type());
  buffer.setRankValues(values);
  places[start.getResult()] = {buffer, Strided::dense({})};
  return success();
}

Strided StepLowering::sliceView(dist::SliceOp slice, const Strided &view) {
  Members members = membersOf(slice, slice.getMeshAttr(), slice.getAxes());
  int64_t dim = slice.getDim();
  SmallVector<int64_t> none(view.shape.size(), 0);
  SmallVector<int64_t> starts = startsOf(slice.getMemberSizes(members.count), view.strides[dim]);
  return view.sliced(none, slice.getType().getShape(), {}).shifted(pick(starts, members.index));
}
