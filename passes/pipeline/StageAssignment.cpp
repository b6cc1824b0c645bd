//===- StageAssignment.cpp - which stage does what ------------------------===//

#include "passes/pipeline/StageAssignment.h"
#include "dialects/dist/IR/PipelineAttributes.h"
#include "dialects/nn/Interfaces/NNInterfaces.h"
#include "passes/pipeline/StageCut.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;

// Only for a first, even cut: what matters is how large ops are next to each other.
static constexpr double kFlopsPerSecond = 1e11, kBytesPerSecond = 1e10;
static constexpr double kMessageSeconds = 2e-5, kMessageBytesPerSecond = 5e9;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }
static double bytesOf(Value value) {
  return static_cast<double>(typeOf(value).getNumElements() *
                             ((typeOf(value).getElementTypeBitWidth() + 7) / 8));
}

static double secondsOf(Operation *op) {
  nn::OpCost cost = nn::streamingCost(op);
  if (auto known = dyn_cast<nn::CostOpInterface>(op))
    cost = known.getCost();
  return cost.flops / kFlopsPerSecond + (cost.bytesRead + cost.bytesWritten) / kBytesPerSecond;
}

bool passes::persists(nn::StepOp step, unsigned argument) {
  auto role = step.getArgAttrOfType<StringAttr>(argument, "nn.role");
  return role &&
         (role.getValue() == "parameter" || role.getValue() == "optimizer_state" || role.getValue() == "state");
}

std::string StageAssignment::nameOf(unsigned argument) const {
  auto name = step.getArgAttrOfType<StringAttr>(argument, "nn.name");
  return name ? name.str() : "";
}

LogicalResult StageAssignment::assign() {
  decides = residence.empty();
  if (!decides)
    followParameters();
  else if (failed(cutForward()))
    return failure();
  keepParameters(/*forward=*/true);
  assignBackward();
  findInputGradients();
  keepParameters(/*forward=*/false);
  return success();
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// What persists and goes into a value that is computed once, before all micro-batches.
const std::set<unsigned> &StageAssignment::parametersOf(Value value) {
  auto [entry, inserted] = parameters.try_emplace(value);
  if (!inserted)
    return entry->second;
  std::set<unsigned> found;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (persists(step, argument.getArgNumber()))
      found.insert(argument.getArgNumber());
  } else if (classes.of(value.getDefiningOp()) == OpClass::Once) {
    for (Value operand : value.getDefiningOp()->getOperands()) {
      const std::set<unsigned> &of = parametersOf(operand);
      found.insert(of.begin(), of.end());
    }
  }
  return parameters[value] = std::move(found);
}

/// A chunk keeps what its ops compute with.
void StageAssignment::keepParameters(bool forward) {
  for (Operation &op : step.getBody().front().without_terminator())
    if (classes.isWork(&op) && classes.isForward(&op) == forward)
      for (Value operand : op.getOperands())
        for (unsigned argument : parametersOf(operand)) {
          Chunks &kept = residence[nameOf(argument)];
          std::set<int64_t> keeping = stagesOfName(nameOf(argument));
          if (decides ||
              llvm::any_of(stagesOfWork(&op), [&](int64_t stage) { return !keeping.count(stage); }))
            kept.insert(chunkOf(&op));
        }
}

std::set<int64_t> StageAssignment::stagesOfName(StringRef name) const {
  std::set<int64_t> stages;
  if (auto kept = residence.find(name.str()); kept != residence.end())
    for (int64_t chunk : kept->second)
      llvm::copy(order.stagesOf(chunk), std::inserter(stages, stages.end()));
  return stages;
}

bool StageAssignment::keeps(int64_t stage, BlockArgument argument) const {
  return !persists(step, argument.getArgNumber()) ||
         stagesOfName(nameOf(argument.getArgNumber())).count(stage) > 0;
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

SmallVector<Operation *> StageAssignment::forwardOps() const {
  SmallVector<Operation *> ops;
  for (Operation &op : step.getBody().front().without_terminator())
    if (classes.isWork(&op) && classes.isForward(&op))
      ops.push_back(&op);
  return ops;
}

/// What a plan says; an op that it does not mention is where the last op is that it needs.
LogicalResult StageAssignment::takePlannedChunks(ArrayRef<Operation *> ops) {
  std::set<int64_t> used;
  for (Operation *op : ops) {
    int64_t least = 0;
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp(); made && chunks.contains(made))
        least = std::max(least, chunkOf(made));
    auto planned = op->getAttrOfType<IntegerAttr>(dist::kChunkAttr);
    int64_t chunk = planned ? planned.getInt() : least;
    if (chunk < least || chunk >= order.chunkCount())
      return op->emitOpError() << "is planned for chunk " << chunk << ", expected one from " << least
                               << ", where what it needs is, to " << order.chunkCount() - 1;
    used.insert(chunks[op] = chunk);
  }
  if (static_cast<int64_t>(used.size()) < order.chunkCount())
    return step.emitOpError() << "is planned with nothing to do for one of its " << order.chunkCount()
                              << " chunks: each needs an op with its dist.chunk";
  return success();
}

LogicalResult StageAssignment::cutForward() {
  SmallVector<Operation *> ops = forwardOps();
  if (llvm::any_of(ops, [](Operation *op) { return op->hasAttr(dist::kChunkAttr); }))
    return takePlannedChunks(ops);
  DenseMap<Operation *, int64_t> position;
  std::vector<double> seconds, secondsOfCut(ops.size() + 1, 0);
  int64_t layers = 0;
  for (auto [index, op] : llvm::enumerate(ops)) {
    position[op] = static_cast<int64_t>(index);
    seconds.push_back(secondsOf(op));
    layers += llvm::any_of(op->getOperands(), [&](Value value) { return !parametersOf(value).empty(); });
  }
  if (int64_t parts = order.chunkCount(); layers < parts)
    return step.emitOpError() << "has " << layers << " ops with parameters, which cannot be cut into " << parts
                              << " stages (" << order.stages.size()
                              << " ranks of a pipeline); use fewer stages";
  for (Operation *op : ops)
    for (Value result : op->getResults()) {
      int64_t last = position[op];
      for (Operation *user : result.getUsers())
        if (auto used = position.find(user); used != position.end())
          last = std::max(last, used->second);
      for (int64_t cut = position[op] + 1; cut <= last; ++cut)
        secondsOfCut[cut] += kMessageSeconds + bytesOf(result) / kMessageBytesPerSecond;
    }
  std::vector<double> slowness;
  for (int64_t chunk = 0; chunk < order.chunkCount(); ++chunk)
    slowness.push_back(slownessOf(chunk));
  std::vector<int64_t> begins = cutEvenly(seconds, secondsOfCut, slowness);
  for (auto [index, op] : llvm::enumerate(ops))
    chunks[op] =
        std::distance(begins.begin(), llvm::upper_bound(begins, static_cast<int64_t>(index))) - 1;
  return success();
}

/// Copies of a chunk lie on several stages.
double StageAssignment::slownessOf(int64_t chunk) const {
  double slowest = 0;
  for (int64_t stage : order.stagesOf(chunk))
    slowest = std::max(slowest, slownessOfStage[stage]);
  return slowest;
}

std::vector<ChunkSeconds> StageAssignment::secondsOfChunks() const {
  std::vector<ChunkSeconds> seconds(order.chunkCount());
  auto mesh = SymbolTable::lookupNearestSymbolFrom<dist::MeshOp>(
      step, step->getAttrOfType<FlatSymbolRefAttr>(dist::kMeshAttr));
  int64_t ranks = mesh ? mesh.getNumRanks() / static_cast<int64_t>(order.stages.size()) : 1;
  double share = 1.0 / static_cast<double>(order.microBatches * std::max<int64_t>(ranks, 1));
  for (Operation &op : step.getBody().front().without_terminator()) {
    if (!classes.isWork(&op))
      continue;
    ChunkSeconds &chunk = seconds[chunkOf(&op)];
    char kind = kindOf(&op);
    (kind == 'F' ? chunk.forward : kind == 'I' ? chunk.backwardInput : chunk.backwardWeight) +=
        secondsOf(&op) * share * slownessOf(chunkOf(&op));
    for (Value result : op.getResults()) {
      bool isSent = !classes.isAccumulated(result) && llvm::any_of(result.getUsers(), [&](Operation *user) {
        return classes.isWork(user) && chunkOf(user) != chunkOf(&op);
      });
      if (isSent)
        (kind == 'F' ? chunk.sendForward : chunk.sendBackward) +=
            kMessageSeconds + bytesOf(result) * share / kMessageBytesPerSecond;
    }
  }
  return seconds;
}

/// Not before what an op needs, and on the first chunk from there on that keeps its parameters.
void StageAssignment::followParameters() {
  for (Operation *op : forwardOps()) {
    int64_t least = 0;
    for (Value operand : op->getOperands())
      if (Operation *made = operand.getDefiningOp(); made && classes.isWork(made))
        least = std::max(least, chunkOf(made));
    int64_t chunk = least;
    for (Value operand : op->getOperands())
      for (unsigned argument : parametersOf(operand)) {
        const Chunks &kept = residence[nameOf(argument)];
        if (kept.empty())
          continue;
        auto found = kept.lower_bound(least);
        chunk = found == kept.end() ? *kept.rbegin() : std::max(chunk, *found);
      }
    chunks[op] = chunk;
  }
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void StageAssignment::assignBackward() {
  for (Operation &op : step.getBody().front().without_terminator())
    if (classes.isWork(&op) && !classes.isForward(&op))
      chunks[&op] = chunkOfBackward(&op);
  // Users before what they use: where an op's gradients are wanted is known then.
  for (Operation &op : llvm::reverse(step.getBody().front().without_terminator()))
    if (passesGradientsOn(&op))
      chunks[&op] = chunkOfFewestBytes(&op);
}

/// In the first half of a backward pass is what another stage waits for, and no more: all else, also what leads to gradients of
/// weights only within this chunk, can fill gaps.
void StageAssignment::findInputGradients() {
  for (Operation &op : llvm::reverse(step.getBody().front().without_terminator())) {
    if (!classes.isWork(&op) || classes.isForward(&op))
      continue;
    bool isWaitedFor = llvm::any_of(op.getResults(), [&](Value result) {
      return !classes.isAccumulated(result) && llvm::any_of(result.getUsers(), [&](Operation *user) {
               return classes.isWork(user) && (chunkOf(user) != chunkOf(&op) || inputGradients.contains(user));
             });
    });
    if (isWaitedFor)
      inputGradients.insert(&op);
  }
}

/// For each forward value and each parameter that a backward op needs, the chunks that have it.
std::vector<StageAssignment::Chunks> StageAssignment::chunksOfForward(Operation *op) {
  std::vector<Chunks> available;
  for (Value operand : op->getOperands()) {
    Operation *made = operand.getDefiningOp();
    for (unsigned argument : parametersOf(operand))
      if (const Chunks &kept = residence[nameOf(argument)]; !kept.empty())
        available.push_back(kept);
    if (!made || !classes.isWork(made) || !classes.isForward(made))
      continue;
    Chunks &at = available.emplace_back(Chunks{chunkOf(made)});
    for (Operation *user : operand.getUsers())
      if (classes.isWork(user) && classes.isForward(user))
        at.insert(chunkOf(user));
  }
  return available;
}

/// The last chunk that has most of the forward values and parameters that the op needs, and that gradients reach it on; of the
/// gradient of a parameter one that keeps it, if it has as many.
int64_t StageAssignment::chunkOfBackward(Operation *op) {
  int64_t bound = order.chunkCount() - 1;
  for (Value operand : op->getOperands())
    if (Operation *made = operand.getDefiningOp(); made && classes.isWork(made) && !classes.isForward(made))
      bound = std::min(bound, chunkOf(made));
  if (passesGradientsOn(op))
    return bound; // the first that it can be on; chunkOfFewestBytes chooses once its users are placed
  std::vector<Chunks> available = chunksOfForward(op);
  if (available.empty()) {
    int64_t wanted = chunkOfGradient(op);
    return wanted < 0 ? bound : std::min(bound, wanted);
  }
  auto countAt = [&](int64_t chunk) {
    return llvm::count_if(available, [&](const Chunks &at) { return at.count(chunk) > 0; });
  };
  int64_t best = 0, most = -1;
  for (int64_t chunk = 0; chunk <= bound; ++chunk)
    if (int64_t has = countAt(chunk); has >= most) {
      most = has;
      best = chunk;
    }
  // The gradient of a parameter need not be sent to it: a forward value that several chunks have is there, too.
  if (llvm::any_of(op->getResults(), [&](Value result) { return classes.isAccumulated(result); }))
    if (int64_t wanted = chunkOfGradient(op); wanted >= 0 && wanted <= bound && countAt(wanted) == most)
      best = wanted;
  return most > 0 ? best : bound;
}

/// Gradients go in and come out, and it needs nothing else that is bound to a chunk: so it can be on any chunk on their way.
bool StageAssignment::passesGradientsOn(Operation *op) {
  if (!classes.isWork(op) || classes.isForward(op) || !chunksOfForward(op).empty())
    return false;
  bool isUsed = false;
  for (Value result : op->getResults())
    for (Operation *user : result.getUsers()) {
      if (isa<dist::AlikeOp>(user))
        continue; // a hint of a step that is not planned yet
      if (classes.isAccumulated(result) || !classes.isWork(user))
        return false;
      isUsed = true;
    }
  return isUsed;
}

/// The two gradients that a residual connection adds up are sent as one where they are added before a cut; a gradient that
/// a cut crosses anyway is scaled, or masked, behind it. Of the first chunk that the op can be on and the last, the one
/// with fewer bytes to send; the last if they are equal, where the masks of a dropout were made by the forward pass.
int64_t StageAssignment::chunkOfFewestBytes(Operation *op) {
  auto bytesSent = [&](int64_t chunk) {
    double bytes = 0;
    for (Value result : op->getResults()) {
      Chunks receivers;
      for (Operation *user : result.getUsers())
        if (classes.isWork(user) && chunkOf(user) != chunk)
          receivers.insert(chunkOf(user));
      bytes += bytesOf(result) * static_cast<double>(receivers.size());
    }
    for (Value operand : llvm::SmallSetVector<Value, 4>(op->operand_begin(), op->operand_end())) {
      Operation *made = operand.getDefiningOp();
      if (!made || !classes.isWork(made) || chunkOf(made) == chunk)
        continue;
      bool isThere = llvm::any_of(operand.getUsers(), [&](Operation *user) {
        return user != op && classes.isWork(user) && chunkOf(user) == chunk;
      });
      bytes += isThere ? 0 : bytesOf(operand);
    }
    return bytes;
  };
  int64_t first = chunkOf(op), last = 0;
  for (Operation *user : op->getUsers())
    if (classes.isWork(user))
      last = std::max(last, chunkOf(user));
  return bytesSent(first) < bytesSent(last) ? first : last;
}

/// Where the parameters are whose gradients come of the op; -1 where there are none (a metric).
int64_t StageAssignment::chunkOfGradient(Operation *op) {
  int64_t chunk = -1;
  DenseSet<Operation *> seen;
  SmallVector<Operation *> work{op};
  Operation *terminator = step.getBody().front().getTerminator();
  while (!work.empty()) {
    Operation *next = work.pop_back_val();
    // What a norm of all gradients scales is no answer.
    bool isScalar = next != op && typeOf(next->getResult(0)).getNumElements() == 1;
    if (isScalar || !seen.insert(next).second)
      continue;
    for (OpOperand &use : next->getUses()) {
      if (isa<dist::AlikeOp>(use.getOwner()))
        continue; // a hint of a step that is not planned yet
      if (use.getOwner() != terminator) {
        work.push_back(use.getOwner());
        continue;
      }
      auto name = step.getResultAttrOfType<StringAttr>(use.getOperandNumber(), "nn.name");
      if (auto kept = residence.find(name ? name.str() : ""); kept != residence.end() && !kept->second.empty())
        chunk = std::max(chunk, *kept->second.rbegin());
    }
  }
  return chunk;
}
