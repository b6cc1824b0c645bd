//===- MessageCosts.cpp - what messages between stages cost ---------------===//

#include "passes/pipeline/MessageCosts.h"
#include <algorithm>
#include <limits>
#include <map>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using dist::LayoutAttr;

static constexpr double kLatencySeconds = 2e-5, kBytesPerSecond = 5e9;

double MessageCosts::reshardSeconds(RankedTensorType type, LayoutAttr from, LayoutAttr to, dist::MeshOp mesh) const {
  FailureOr<SmallVector<ReshardStep>> steps = planReshard(from, to, type.getShape(), mesh);
  if (failed(steps))
    return std::numeric_limits<double>::infinity();
  double seconds = 0;
  for (const ReshardStep &step : *steps)
    if (step.kind != ReshardKind::Slice)
      seconds += kLatencySeconds + step.elements * (type.getElementTypeBitWidth() / 8.0) / kBytesPerSecond;
  return seconds;
}

double MessageCosts::slowness(int64_t, int64_t) const { return 1; }

double MessageCosts::transferSeconds(ArrayRef<TransferPiece> pieces, int64_t elementBytes) const {
  std::map<std::pair<int64_t, bool>, double> busy; // of each rank, out and in
  double most = 0;
  for (const TransferPiece &piece : pieces)
    for (auto end : {std::pair(piece.from, false), std::pair(piece.to, true)}) {
      auto elements = static_cast<double>(ShapedType::getNumElements(piece.box.shape));
      busy[end] += kLatencySeconds + elements * elementBytes / kBytesPerSecond;
      most = std::max(most, busy[end]);
    }
  return most;
}
