//===- Transfer.cpp - from the ranks of one mesh to those of another ------===//

#include "passes/layouts/Transfer.h"
#include <map>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

/// The ranks of a mesh by the box that they hold.
using Holders = std::map<std::pair<SmallVector<int64_t>, SmallVector<int64_t>>, SmallVector<int64_t>>;

static Holders holdersOf(dist::LayoutAttr layout, dist::MeshOp mesh, ArrayRef<int64_t> shape) {
  Holders holders;
  for (int64_t rank : mesh.getRanks()) {
    LocalPart part = getLocalPart(layout, shape, mesh, rank);
    holders[{part.start, part.shape}].push_back(rank);
  }
  return holders;
}

/// Nothing where they share no element.
static std::optional<LocalPart> intersect(const Holders::key_type &a, const Holders::key_type &b) {
  LocalPart common;
  for (auto [startA, sizeA, startB, sizeB] : llvm::zip(a.first, a.second, b.first, b.second)) {
    int64_t begin = std::max(startA, startB), end = std::min(startA + sizeA, startB + sizeB);
    if (begin >= end)
      return std::nullopt;
    common.start.push_back(begin);
    common.shape.push_back(end - begin);
  }
  return common;
}

SmallVector<TransferPiece> passes::planTransfer(dist::LayoutAttr from, dist::MeshOp fromMesh, dist::LayoutAttr to,
                                                dist::MeshOp toMesh, ArrayRef<int64_t> shape, int64_t turn) {
  SmallVector<TransferPiece> pieces;
  Holders held = holdersOf(from, fromMesh, shape);
  for (const auto &[needed, receivers] : holdersOf(to, toMesh, shape))
    for (const auto &[box, senders] : held)
      if (std::optional<LocalPart> common = intersect(box, needed))
        for (auto [index, receiver] : llvm::enumerate(receivers)) {
          size_t first = receivers.size() % senders.size() ? turn : 0;
          pieces.push_back({senders[(first + index) % senders.size()], receiver, *common});
        }
  llvm::sort(pieces, [](const TransferPiece &a, const TransferPiece &b) {
    return std::tie(a.to, a.box.start) < std::tie(b.to, b.box.start);
  });
  return pieces;
}
