//===- Schedule.cpp - how a fused group is looped over --------------------===//

#include "compiler/codegen/Schedule.h"
#include "dialects/nn/Analysis/InPlace.h"
#include "dialects/nn/IR/NN.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;

// Elements of one unit of an elementwise kernel: enough to hide the loop around it, few enough to share among
// threads.
static constexpr int64_t elementwiseBlock = 4096;
// Columns that a unit of a column reduction accumulates: 1 KiB of each row, and buffers that stay in the
// first cache.
static constexpr int64_t columnBlock = 256;
// Elements that a row reduction sums in f32 before it goes on in f64.
static constexpr int64_t partialSumBlock = 4096;

int64_t Schedule::units() const {
  int64_t product = 1;
  for (const Axis &axis : ArrayRef(axes).take_front(parallelAxes))
    product *= axis.size;
  return walk == Walk::Rows ? product : product / axes[vectorAxis].size * blocksPerRow();
}

int64_t Schedule::reducedExtent() const {
  int64_t product = 1;
  for (const Axis &axis : ArrayRef(axes).drop_front(parallelAxes))
    product *= axis.size;
  return product;
}

namespace {

class Scheduler {
public:
  Scheduler(nn::FusionOp fusion, ArrayRef<MemRefType> arguments) : fusion(fusion), arguments(arguments) {}
  FailureOr<Schedule> run();

private:
  LogicalResult readDonations();
  LogicalResult assignArguments();
  FailureOr<Access> makeAccess(unsigned argument, Value value);
  void addTableStrides(ArrayRef<Operation *> ops);
  void makeAxes();
  bool canCollapse(const Axis &outer, const Axis &inner) const;
  void findPhases();
  void addCosts();
  LogicalResult checkDonations();
  Value yielded(unsigned result) { return fusion.getBody().front().getTerminator()->getOperand(result); }

  nn::FusionOp fusion;
  ArrayRef<MemRefType> arguments;
  Schedule schedule;
  // Per operand, then per result, then per table of constants: strides per loop of the iteration space.
  SmallVector<std::pair<Value, SmallVector<int64_t>>> loopStrides;
  nn::LoopSet positionLoops = 0;
};

} // namespace

LogicalResult Scheduler::readDonations() {
  schedule.donatedOperand.assign(fusion.getNumResults(), -1);
  if (!fusion.getDonate())
    return success();
  ArrayAttr donations = *fusion.getDonate();
  for (Attribute attribute : donations) {
    SmallVector<int64_t> pair;
    if (auto array = dyn_cast<ArrayAttr>(attribute)) {
      for (Attribute element : array)
        if (auto integer = dyn_cast<IntegerAttr>(element))
          pair.push_back(integer.getInt());
    } else if (auto dense = dyn_cast<DenseI64ArrayAttr>(attribute)) {
      llvm::append_range(pair, dense.asArrayRef());
    }
    if (pair.size() != 2 || pair[0] < 0 || pair[0] >= fusion->getNumOperands() || pair[1] < 0 ||
        pair[1] >= fusion.getNumResults())
      return fusion.emitOpError("expects pairs [operand, result] in 'donate', found ") << attribute;
    schedule.donatedOperand[pair[1]] = static_cast<int>(pair[0]);
  }
  return success();
}

FailureOr<Access> Scheduler::makeAccess(unsigned argument, Value value) {
  MemRefType memref = arguments[argument];
  auto tensor = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!memref.hasStaticShape() || memref.getShape() != tensor.getShape() ||
      memref.getElementType() != tensor.getElementType() ||
      failed(memref.getStridesAndOffset(strides, offset)) ||
      llvm::is_contained(strides, ShapedType::kDynamic))
    return fusion.emitOpError("expects for argument ")
           << argument << " a memref of the shape and element type of " << tensor
           << " with static strides, found " << memref;
  SmallVector<int64_t> perLoop(schedule.space.sizes.size(), 0);
  for (auto [loop, stride] : llvm::zip_equal(schedule.space.loops.find(value)->second, strides))
    if (loop >= 0)
      perLoop[loop] = stride;
  loopStrides.emplace_back(value, perLoop);
  return Access{argument, tensor.getElementType(), {}};
}

LogicalResult Scheduler::assignArguments() {
  unsigned needed = fusion->getNumOperands() + llvm::count(schedule.donatedOperand, -1);
  if (arguments.size() != needed)
    return fusion.emitOpError("expects ")
           << needed << " memory arguments (operands, then results that are not donated)"
           << ", found " << arguments.size();
  for (BlockArgument operand : fusion.getBody().getArguments()) {
    auto access = makeAccess(operand.getArgNumber(), operand);
    if (failed(access))
      return failure();
    schedule.operands.push_back(*access);
  }
  unsigned next = fusion->getNumOperands();
  for (unsigned result = 0; result < fusion.getNumResults(); ++result) {
    int donated = schedule.donatedOperand[result];
    auto access = makeAccess(donated >= 0 ? donated : next++, yielded(result));
    if (failed(access))
      return failure();
    schedule.results.push_back(*access);
  }
  return success();
}

/// Constants that are not splats lie in memory too, row-major.
void Scheduler::addTableStrides(ArrayRef<Operation *> ops) {
  for (Operation *op : ops) {
    if (!isa<nn::ConstantOp>(op))
      continue;
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> perLoop(schedule.space.sizes.size(), 0);
    int64_t stride = 1;
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      if (int loop = schedule.space.loops.find(op->getResult(0))->second[i]; loop >= 0)
        perLoop[loop] = stride;
      stride *= type.getDimSize(i);
    }
    loopStrides.emplace_back(op->getResult(0), perLoop);
  }
}

/// Two neighbouring axes are one if every value runs over both or neither, and every layout steps evenly over
/// both.
bool Scheduler::canCollapse(const Axis &outer, const Axis &inner) const {
  nn::LoopSet outerLoop = nn::LoopSet(1) << outer.loops.back(), innerLoop = nn::LoopSet(1)
                                                                            << inner.loops.front();
  if (positionLoops & (outerLoop | innerLoop))
    return false;
  for (const auto &[value, loops] : schedule.space.loops) {
    nn::LoopSet set = schedule.space.loopsOf(value);
    if (!(set & outerLoop) != !(set & innerLoop))
      return false;
  }
  return llvm::all_of(loopStrides, [&](const auto &entry) {
    int64_t innerStride = entry.second[inner.loops.back()];
    return entry.second[outer.loops.back()] == innerStride * inner.size;
  });
}

void Scheduler::makeAxes() {
  const nn::IterationSpace &space = schedule.space;
  int loopCount = static_cast<int>(space.sizes.size());
  // With reductions and a last loop that is not reduced, or without reductions, units are blocks of columns.
  bool lastReduced = loopCount > 0 && (space.reduced >> (loopCount - 1) & 1);
  schedule.walk = lastReduced ? Walk::Rows : Walk::Columns;
  auto addAxes = [&](bool reduced) {
    size_t first = schedule.axes.size();
    for (int loop = 0; loop < loopCount; ++loop) {
      if (static_cast<bool>(space.reduced >> loop & 1) != reduced)
        continue;
      Axis axis{space.sizes[loop], {loop}};
      if (schedule.axes.size() > first && canCollapse(schedule.axes.back(), axis)) {
        schedule.axes.back().size *= axis.size;
        schedule.axes.back().loops.push_back(loop);
      } else {
        schedule.axes.push_back(axis);
      }
    }
  };
  addAxes(/*reduced=*/false);
  if (schedule.axes.empty() && schedule.walk == Walk::Columns)
    schedule.axes.push_back({1, {}}); // scalars only
  schedule.parallelAxes = schedule.axes.size();
  addAxes(/*reduced=*/true);
  if (schedule.walk == Walk::Rows) {
    schedule.vectorAxis = schedule.axes.size() - 1;
    schedule.block = partialSumBlock;
  } else {
    schedule.vectorAxis = schedule.parallelAxes - 1;
    schedule.block =
        std::min(schedule.axes[schedule.vectorAxis].size, space.reduced ? columnBlock : elementwiseBlock);
  }
  for (const auto &[value, loops] : space.loops) {
    nn::LoopSet set = space.loopsOf(value);
    AxisSet axes = 0;
    for (auto [i, axis] : llvm::enumerate(schedule.axes))
      if (!axis.loops.empty() && (set >> axis.loops.front() & 1))
        axes |= AxisSet(1) << i;
    schedule.axesOfValue[value] = axes;
  }
  for (auto [i, access] : llvm::enumerate(llvm::concat<Access>(schedule.operands, schedule.results)))
    for (const Axis &axis : schedule.axes)
      access.strides.push_back(axis.loops.empty() ? 0 : loopStrides[i].second[axis.loops.back()]);
}

void Scheduler::findPhases() {
  schedule.phases = nn::getReductionPhases(fusion.getBody().front(), schedule.space);
  for (const auto &[value, phase] : schedule.phases)
    schedule.phaseCount = std::max(schedule.phaseCount, phase + 1);
}

void Scheduler::addCosts() {
  auto elements = [](Value value) {
    return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
  };
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    if (isa<nn::ReduceSumOp, nn::ReduceMaxOp>(op))
      schedule.flops += elements(op.getOperand(0));
    else
      schedule.flops += schedule.traits[&op].flops * elements(op.getResult(0));
  }
  for (Type type : llvm::concat<Type>(SmallVector<Type>(fusion->getOperandTypes()),
                                      SmallVector<Type>(fusion->getResultTypes()))) {
    auto tensor = cast<RankedTensorType>(type);
    schedule.bytes +=
        static_cast<double>(tensor.getNumElements()) * ((tensor.getElementTypeBitWidth() + 7) / 8);
  }
}

LogicalResult Scheduler::checkDonations() {
  for (auto [result, operand] : llvm::enumerate(schedule.donatedOperand)) {
    if (operand < 0)
      continue;
    Value from = fusion.getBody().getArgument(operand), to = yielded(result);
    if (!nn::canComputeInPlace(fusion.getBody().front(), schedule.space, from, to))
      return fusion.emitOpError("cannot compute result ")
             << result << " in the memory of operand " << operand
             << ": expected equal types, an iteration that stores what it reads, and no later read";
    for (auto [other, access] : llvm::enumerate(schedule.results))
      if (other != result && access.argument == static_cast<unsigned>(operand))
        return fusion.emitOpError("donates operand ") << operand << " twice";
  }
  return success();
}

FailureOr<Schedule> Scheduler::run() {
  SmallVector<Operation *> ops;
  for (Operation &op : fusion.getBody().front().without_terminator())
    ops.push_back(&op);
  std::string reason;
  auto space = nn::getIterationSpace(ops, reason);
  if (failed(space))
    return fusion.emitOpError("cannot be one kernel: ") << reason;
  schedule.space = std::move(*space);
  for (Value value :
       llvm::concat<Value>(SmallVector<Value>(fusion.getBody().getArguments()),
                           SmallVector<Value>(fusion.getBody().front().getTerminator()->getOperands())))
    if (!schedule.space.loops.contains(value))
      return fusion.emitOpError("cannot be one kernel: an operand is not used by any of its ops");
  for (Operation *op : ops) {
    schedule.traits[op] = nn::getScalarTraits(op);
    if (schedule.traits[op].usesPosition)
      positionLoops |= schedule.space.loopsOf(op->getResult(0));
  }
  if (failed(readDonations()) || failed(assignArguments()))
    return failure();
  addTableStrides(ops);
  makeAxes();
  findPhases();
  addCosts();
  if (failed(checkDonations()))
    return failure();
  return std::move(schedule);
}

FailureOr<Schedule> codegen::makeSchedule(nn::FusionOp fusion, ArrayRef<MemRefType> arguments) {
  return Scheduler(fusion, arguments).run();
}
