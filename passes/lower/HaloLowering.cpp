//===- HaloLowering.cpp - halo exchanges as messages ----------------------===//
//
// A part of the rows of an image gets a row of each neighbour:
//
//     has        |  0  1  2 |  3  4 |  5  6 |
//     needs      |  0  1  2  3                    part 0 receives 3 from part 1
//                         2  3  4  5              part 1 receives 2 from part 0, 5 from part 2
//                               4  5  6 |         part 2 receives 4 from part 1
//
// Every rank starts all of its receives, then all of its sends, and then waits: whatever the order of the ranks,
// each send meets a receive that has started or will start without waiting for anything.
//
//===----------------------------------------------------------------------===//

#include "passes/lower/StepLowering.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

namespace {

/// Elements of a dimension, and who has them.
struct Piece {
  int64_t part, begin, end;
};

} // namespace

/// `place`, which begins at element `first` of dimension `dim`, from element `begin` to `end`.
static Place cut(const Place &place, int64_t dim, int64_t first, const Piece &piece) {
  SmallVector<int64_t> offsets(place.view.shape.size(), 0), sizes(place.view.shape);
  offsets[dim] = piece.begin - first;
  sizes[dim] = piece.end - piece.begin;
  return {place.buffer, place.view.sliced(offsets, sizes, {})};
}

/// For each of the program's ranks, the rank with part `part` along the axes.
static SmallVector<int64_t> peersOf(dist::MeshOp mesh, ArrayAttr axes, ArrayRef<int64_t> ranks,
                                    int64_t part) {
  SmallVector<int64_t> peers;
  SmallVector<SmallVector<int64_t>> groups = mesh.getGroups(axes);
  for (int64_t rank : ranks)
    for (ArrayRef<int64_t> group : groups)
      if (llvm::is_contained(group, rank))
        peers.push_back(group[part]);
  return peers;
}

static Type elementOf(rt::BufferOp buffer) { return buffer.getType().getElementType(); }

/// Dense memory for a piece of `like`.
Place StepLowering::newPiece(const Place &like, StringRef label) {
  ArrayRef<int64_t> shape = like.view.shape;
  rt::BufferOp buffer =
      createBuffer(rt::BufferKind::Activation, rt::Segment::Private, label, shape, elementOf(like.buffer));
  return {buffer, Strided::dense(shape)};
}

LogicalResult StepLowering::lowerHaloExchange(dist::HaloExchangeOp exchange) {
  auto over = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(exchange, exchange.getMeshAttr());
  ArrayAttr axes = exchange.getAxes();
  int64_t dim = exchange.getDim(), own = over.getPart(axes, ranks.front()), parts = over.getParts(axes);
  std::string label = labelOf(exchange, "halo");
  SmallVector<Piece> incoming, outgoing;
  for (int64_t part = 0; part < parts; ++part) {
    auto [inBegin, inEnd] = exchange.getMoved(part, own);
    if (inBegin < inEnd)
      incoming.push_back({part, inBegin, inEnd});
    auto [outBegin, outEnd] = exchange.getMoved(own, part);
    if (part != own && outBegin < outEnd)
      outgoing.push_back({part, outBegin, outEnd});
  }
  int64_t has = exchange.getHas()[2 * own], needs = exchange.getNeeds()[2 * own];
  Place input = places[exchange.getInput()], result = resultPlace(exchange.getResult(), label);

  auto bytes = [&](const Place &place) {
    return number(place.view.elements() * rt::elementBytes(elementOf(place.buffer)));
  };
  Type token = rt::TokenType::get(b.getContext());
  SmallVector<Value> receives, sends;
  std::vector<std::pair<Place, Place>> received; // from, to
  for (const Piece &piece : incoming) {
    if (piece.part == own)
      continue;
    Place to = cut(result, dim, needs, piece), from = to.view.isDense() ? to : newPiece(to, label);
    received.push_back({from, to});
    receives.push_back(rt::ReceiveStartOp::create(
        b, exchange.getLoc(), token, b.getStringAttr(label), number(0), bytes(from), memory(from),
        b.getDenseI64ArrayAttr(peersOf(over, axes, ranks, piece.part)), b.getI64IntegerAttr(0)));
  }
  for (const Piece &piece : outgoing) {
    Place from = cut(input, dim, has, piece);
    if (!from.view.isDense()) {
      Place packed = newPiece(from, label);
      copy(from, packed, label + " pack");
      from = packed;
    }
    share(from.buffer);
    sends.push_back(rt::SendStartOp::create(
        b, exchange.getLoc(), token, b.getStringAttr(label), number(0), bytes(from), memory(from),
        b.getDenseI64ArrayAttr(peersOf(over, axes, ranks, piece.part)), b.getI64IntegerAttr(0)));
  }
  for (const Piece &piece : incoming)
    if (piece.part == own)
      copy(cut(input, dim, has, piece), cut(result, dim, needs, piece), label + " own");
  for (auto [receive, piece] : llvm::zip(receives, received)) {
    rt::CollectiveDoneOp::create(b, exchange.getLoc(), receive);
    if (piece.first.buffer != piece.second.buffer)
      copy(piece.first, piece.second, label + " unpack");
  }
  for (Value send : sends)
    rt::CollectiveDoneOp::create(b, exchange.getLoc(), send);
  places[exchange.getResult()] = result;
  return success();
}
