//===- MeshCosts.cpp - times on one mesh of a cluster ---------------------===//

#include "compiler/plan/search/MeshCosts.h"
#include "compiler/codegen/ScalarOperations.h"
#include "compiler/plan/problem/Problem.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::plan;
using dist::LayoutAttr;
using machine::OpClass;
using machine::Precision;

MeshCosts::MeshCosts(const machine::Cluster &cluster, const cost::CostModel &model, dist::MeshOp mesh,
                     MeshPlace place)
    : cluster(cluster), model(model), mesh(mesh), place(std::move(place)), ranks(mesh.getNumRanks()) {}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static int64_t elementBytes(RankedTensorType type) {
  return llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Of the largest part, which is the first.
int64_t MeshCosts::localElements(ArrayRef<int64_t> shape, LayoutAttr layout) const {
  int64_t elements = 1;
  for (auto [d, size] : llvm::enumerate(shape))
    elements *= layout.isSplit(d) ? dist::shardSize(size, layout.getBlocks()[d],
                                                    dist::MeshOp(mesh).getParts(layout.getAxes(d)), 0)
                                  : size;
  return elements;
}

int64_t MeshCosts::localBytes(RankedTensorType type, LayoutAttr layout) const {
  return localElements(type.getShape(), layout) * elementBytes(type);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

static OpClass classOf(Operation *op) {
  auto library = dyn_cast<nn::LibraryOpInterface>(op);
  if (!library)
    return OpClass::Elementwise;
  std::string call = library.getLibraryCall().name;
  StringRef name = call;
  if (name.starts_with("conv"))
    return OpClass::Convolution;
  if (name.starts_with("embedding"))
    return OpClass::Gather;
  if (name.contains("pool"))
    return OpClass::Pooling;
  return llvm::StringSwitch<OpClass>(name).Case("matmul", OpClass::Matmul).Default(OpClass::Reduction);
}

static Precision precisionOf(Operation *op) {
  if (op->getNumOperands() == 0)
    return Precision::F32;
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  return element.isBF16()  ? Precision::BF16
         : element.isF16() ? Precision::F16
         : element.isF64() ? Precision::F64
                           : Precision::F32;
}

/// What of the whole op's loops the largest part runs.
static double shareOf(Operation *op, const passes::OpSplit &split, dist::MeshOp mesh) {
  auto shardable = dyn_cast<nn::ShardableOpInterface>(op);
  if (!shardable)
    return 1;
  nn::ShardingRule rule = shardable.getShardingRule();
  double share = 1;
  for (auto [factor, axes] : llvm::zip(rule.factors, split.factorAxes)) {
    int64_t parts = 1;
    for (int64_t axis : axes)
      parts *= mesh.getAxisSizes()[axis];
    share *= static_cast<double>(llvm::divideCeil(factor.size, parts)) / static_cast<double>(factor.size);
  }
  return share;
}

SmallVector<double> MeshCosts::opSeconds(Operation *op, const OpTraffic &traffic, ArrayRef<passes::OpSplit> splits) {
  auto costed = dyn_cast<nn::CostOpInterface>(op);
  if (!costed || isFreeOp(op))
    return SmallVector<double>(splits.size(), 0);
  bool isGenerated = !isa<nn::LibraryOpInterface>(op);
  double operations = isGenerated ? codegen::countScalarOperations(op) : costed.getCost().flops;
  return llvm::map_to_vector(splits, [&](const passes::OpSplit &split) {
    return operationSeconds(op, traffic, split, operations);
  });
}

double MeshCosts::workSeconds(const cost::OpWork &work) const {
  double seconds = 0;
  for (int64_t rank : place.devices)
    seconds = std::max(seconds, model.opSeconds(work, rank));
  return seconds;
}

double MeshCosts::operationSeconds(Operation *op, const OpTraffic &traffic, const passes::OpSplit &split,
                                   double operations) {
  nn::OpCost whole = cast<nn::CostOpInterface>(op).getCost();
  /// Bytes of the values that are moved, on one rank and on a single device.
  auto moved = [&](auto values, ArrayRef<LayoutAttr> layouts, ArrayRef<bool> moves) {
    double local = 0, global = 0;
    for (auto [value, layout, isMoved] : llvm::zip(values, layouts, moves)) {
      auto type = cast<RankedTensorType>(value.getType());
      local += isMoved ? static_cast<double>(localBytes(type, layout)) : 0;
      global += static_cast<double>(type.getNumElements() * elementBytes(type));
    }
    return std::pair(local, global);
  };
  auto [read, allRead] = moved(op->getOperands(), split.layouts.operands, traffic.reads);
  auto [written, allWritten] = moved(op->getResults(), split.layouts.results, traffic.writes);
  cost::OpWork work;
  work.opClass = classOf(op);
  work.precision = precisionOf(op);
  work.flops = operations * shareOf(op, split, mesh);
  // An op may read less than its operands: rows of a table.
  work.bytesRead = allRead > 0 ? whole.bytesRead * read / allRead : 0;
  work.bytesWritten = allWritten > 0 ? whole.bytesWritten * written / allWritten : 0;
  work.bytesFetched = work.bytesWritten;
  work.workingSetBytes = workingSetBytes;
  work.isLaunched = !traffic.launches;
  if (split.reductions.empty())
    return workSeconds(work);
  // Each reduction between parts ends a pass over the operands.
  cost::OpWork pass;
  pass.opClass = OpClass::Reduction;
  for (auto [operand, layout] : llvm::zip(op->getOperands(), split.layouts.operands))
    pass.bytesRead += static_cast<double>(localBytes(cast<RankedTensorType>(operand.getType()), layout));
  return workSeconds(work) + static_cast<double>(split.reductions.size()) * workSeconds(pass);
}

SmallVector<bool> MeshCosts::mayTake(Operation *op, ArrayRef<passes::OpSplit> splits) {
  SmallVector<bool> may(splits.size(), true);
  OpClass opClass = classOf(op);
  if (model.countsWork() || (opClass != OpClass::Matmul && opClass != OpClass::Convolution))
    return may;
  SmallVector<int64_t> parts;
  for (const passes::OpSplit &split : splits) {
    parts.push_back(1);
    for (const auto &axes : split.factorAxes)
      for (int64_t axis : axes)
        parts.back() *= mesh.getAxisSizes()[axis];
  }
  int64_t most = *llvm::max_element(parts);
  for (auto [allowed, own] : llvm::zip(may, parts))
    allowed = own == most;
  return may;
}

double MeshCosts::splitCommunicationSeconds(const passes::OpSplit &split) {
  double seconds = 0;
  for (const passes::PartsReduction &reduction : split.reductions)
    seconds += messageSeconds({cost::Collective::AllReduce, reduction.bytes, reduction.axes});
  for (const passes::HaloBytes &halo : split.halos)
    if (halo.bytes > 0)
      seconds += messageSeconds({cost::Collective::PointToPoint, halo.bytes, halo.axes});
  return seconds;
}

double MeshCosts::inputSeconds(RankedTensorType type, LayoutAttr layout) {
  cost::OpWork work;
  work.opClass = OpClass::Copy;
  work.bytesRead = work.bytesWritten = static_cast<double>(localBytes(type, layout));
  return workSeconds(work);
}

//===----------------------------------------------------------------------===//
// Reshards
//===----------------------------------------------------------------------===//

const cost::GroupShape &MeshCosts::shapeOf(ArrayAttr axes) {
  auto [entry, inserted] = shapes.try_emplace(axes);
  if (inserted) {
    std::vector<size_t> indices;
    std::vector<int64_t> sizes = {place.copies};
    llvm::append_range(sizes, mesh.getAxisSizes());
    for (StringRef axis : axes.getAsValueRange<StringAttr>())
      indices.push_back(static_cast<size_t>(mesh.findAxis(axis)) + 1);
    entry->second = cost::shapeOfAxes(cluster, sizes, indices);
  }
  return entry->second;
}

/// Dimensions that all ranks together divide evenly, in the blocks of both layouts, do so in all layouts on the way.
/// The elements that a rank receives are then a multiple of such a dimension's size, so that the cheapest way is the
/// same for every size: it is looked for once.
const MeshCosts::Way &MeshCosts::wayOf(ArrayRef<int64_t> shape, LayoutAttr from, LayoutAttr to) {
  SmallVector<int64_t, 4> sizes;
  for (auto [d, size] : llvm::enumerate(shape)) {
    bool isEven = size % (ranks * from.getBlocks()[d]) == 0 && size % (ranks * to.getBlocks()[d]) == 0;
    sizes.push_back(isEven ? 0 : size);
  }
  auto [entry, inserted] = ways[{from, to}].try_emplace(std::move(sizes));
  if (inserted)
    if (auto steps = passes::planReshard(from, to, shape, mesh); succeeded(steps))
      entry->second = std::move(*steps);
  return entry->second;
}

double MeshCosts::computeReshard(RankedTensorType type, LayoutAttr from, LayoutAttr to,
                                 llvm::function_ref<double(const Message &)> secondsOf) {
  const Way &steps = wayOf(type.getShape(), from, to);
  if (!steps)
    return forbidden;
  double seconds = 0;
  LayoutAttr layout = from;
  for (const passes::ReshardStep &step : *steps) {
    if (std::optional<Message> message = messageOf(type, layout, step))
      seconds += secondsOf(*message);
    layout = step.result;
  }
  return seconds;
}

std::optional<MeshCosts::Message> MeshCosts::messageOf(RankedTensorType type, LayoutAttr before,
                                                       const passes::ReshardStep &step) const {
  switch (step.kind) {
  case passes::ReshardKind::Slice:
    return std::nullopt;
  case passes::ReshardKind::AllReduce:
    return Message{cost::Collective::AllReduce, localBytes(type, before), step.axes};
  case passes::ReshardKind::ReduceScatter:
    return Message{cost::Collective::ReduceScatter, localBytes(type, before), step.axes};
  case passes::ReshardKind::AllGather:
    return Message{cost::Collective::AllGather, localBytes(type, step.result), step.axes};
  case passes::ReshardKind::AllToAll:
    return Message{cost::Collective::AllToAll, localBytes(type, before), step.axes};
  }
  return std::nullopt;
}

double MeshCosts::messageSeconds(const Message &message) {
  return model.collectiveSeconds(message.collective, static_cast<double>(message.bytes),
                                 shapeOf(message.axes));
}

double MeshCosts::reshardSeconds(RankedTensorType type, LayoutAttr from, LayoutAttr to) {
  if (from == to)
    return 0;
  auto [entry, inserted] =
      reshards.try_emplace(std::make_tuple(Type(type), Attribute(from), Attribute(to)), 0);
  if (inserted)
    entry->second = computeReshard(type, from, to, [&](const Message &message) { return messageSeconds(message); });
  return entry->second;
}

double MeshCosts::gradientReshardSeconds(RankedTensorType type, LayoutAttr from, LayoutAttr to) {
  if (from == to)
    return 0;
  return computeReshard(type, from, to, [&](const Message &message) {
    auto bytes = static_cast<double>(message.bytes);
    if (message.collective != cost::Collective::AllReduce || bytes >= bucketBytes)
      return messageSeconds(message);
    return bytes / bucketBytes * model.collectiveSeconds(message.collective, bucketBytes, shapeOf(message.axes));
  });
}
