//===- Emitter.cpp - a schedule as loops ----------------------------------===//

#include "compiler/codegen/Emitter.h"
#include "compiler/codegen/Evaluator.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include <limits>
#include <optional>

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;

// What a unit of a row kernel keeps of its row instead of computing it again: within the second cache and the
// stack.
static constexpr int64_t rowBufferBytes = 256 << 10, allRowBuffersBytes = 512 << 10;
// Values that take fewer instructions than this are computed again.
static constexpr int expensiveInstructions = 8;
// Sums over more elements than this are added up in f64.
static constexpr int64_t singlePrecisionSum = 1024;

namespace {

/// What the loops of a phase compute.
struct Phase {
  SmallVector<Operation *> reductions;
  SmallVector<unsigned> stores; // results
  SmallVector<Value>
      buffered; // Rows: values kept for later phases. Columns: values computed before the loops.
};

class KernelEmitter {
public:
  KernelEmitter(ModuleOp module, nn::FusionOp fusion, const Schedule &schedule, StringRef symbol)
      : module(module), fusion(fusion), schedule(schedule), symbol(symbol),
        loc(UnknownLoc::get(module.getContext())), b(module.getContext()),
        pointerType(LLVM::LLVMPointerType::get(module.getContext())) {}
  void emit();

private:
  void planPhases();
  void planRowBuffers();
  void planColumnBuffers();
  LLVM::LLVMFuncOp emitBody();
  void emitEntry(LLVM::LLVMFuncOp body);
  void allocateBuffers();
  void addBuffer(Value value, Type type, int64_t elements);

  void openUnit(Value unit);
  void emitRowsUnit();
  void emitColumnsUnit();
  void emitColumnsPhase(Phase &phase);
  void emitResultsOfUnit();

  scf::ForOp openLoop(unsigned axis, Value low, Value high, int64_t step, ValueRange carried = {});
  void reduceRow(const Phase &phase);
  SmallVector<Value> reduceOuter(const Phase &phase, unsigned axis, ValueRange carried);
  SmallVector<Value> reduceInner(const Phase &phase, Value low, Value high);
  Value combine(Operation *reduction, Value accumulated, Value value);
  Value identity(Operation *reduction, Type type);
  Type wideType(Operation *reduction, int64_t elements);
  Value extend(Value value, Type type);

  int phaseOf(Value value) const { return schedule.phases.lookup(value); }
  bool runsOver(Value value, unsigned axis) const { return schedule.axesOfValue.lookup(value) >> axis & 1; }
  /// Whether `value` has one element per unit or column: it runs over no reduced axis.
  bool isParallel(Value value) const { return !(schedule.axesOfValue.lookup(value) & schedule.reducedSet()); }
  Operation *terminator() { return fusion.getBody().front().getTerminator(); }

  ModuleOp module;
  nn::FusionOp fusion;
  const Schedule &schedule;
  StringRef symbol;
  Location loc;
  OpBuilder b;
  Type pointerType;
  SmallVector<Phase> phases;
  // Results that do not run over the reduced axes: stored at the end of the unit.
  SmallVector<unsigned> unitResults;
  std::optional<Evaluator> at;
  Value blockLow, blockHigh;
};

} // namespace

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

void KernelEmitter::planPhases() {
  phases.resize(schedule.phaseCount);
  for (Operation &op : fusion.getBody().front().without_terminator())
    if (isa<nn::ReduceSumOp, nn::ReduceMaxOp>(op) &&
        schedule.axesOfValue.lookup(op.getOperand(0)) != schedule.axesOfValue.lookup(op.getResult(0)))
      phases[phaseOf(op.getOperand(0))].reductions.push_back(&op);
  for (auto [i, value] : llvm::enumerate(terminator()->getOperands())) {
    if (isParallel(value))
      unitResults.push_back(i);
    else
      phases[phaseOf(value)].stores.push_back(i);
  }
  if (schedule.walk == Walk::Rows)
    planRowBuffers();
  else
    planColumnBuffers();
}

/// Expensive values that several phases need are kept: the exponentials of a softmax, for example.
void KernelEmitter::planRowBuffers() {
  if (schedule.axes.size() - schedule.parallelAxes != 1)
    return; // the row is not one loop
  int64_t elements = schedule.axes[schedule.vectorAxis].size, total = 0;
  llvm::DenseMap<Value, int> firstPhase;
  llvm::DenseSet<Value> kept;
  for (auto [k, phase] : llvm::enumerate(phases)) {
    SmallVector<Value> work;
    for (Operation *reduction : phase.reductions)
      work.push_back(reduction->getOperand(0));
    for (unsigned result : phase.stores)
      work.push_back(terminator()->getOperand(result));
    llvm::DenseSet<Value> seen;
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *op = value.getDefiningOp();
      if (!op || isParallel(value) || !seen.insert(value).second)
        continue;
      auto [first, isFirst] = firstPhase.try_emplace(value, static_cast<int>(k));
      if (!isFirst && first->second != static_cast<int>(k)) {
        int64_t bytes = elements * 8;
        if (!kept.contains(value) && schedule.traits.lookup(op).instructions >= expensiveInstructions &&
            runsOver(value, schedule.vectorAxis) && bytes <= rowBufferBytes &&
            total + bytes <= allRowBuffersBytes) {
          kept.insert(value);
          total += bytes;
          phases[first->second].buffered.push_back(value);
        }
        if (kept.contains(value))
          continue; // what it is made of is not needed in this phase
      }
      llvm::append_range(work, op->getOperands());
    }
  }
}

/// What runs over the columns only is computed once per column, before the rows that use it.
void KernelEmitter::planColumnBuffers() {
  if (!schedule.reducedSet())
    return;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    Value value = op.getResult(0);
    if (!isParallel(value) || !runsOver(value, schedule.vectorAxis) ||
        schedule.traits.lookup(&op).instructions == 0)
      continue;
    if (llvm::any_of(value.getUsers(), [&](Operation *user) {
          return user != terminator() && !isParallel(user->getResult(0));
        }))
      phases[phaseOf(value)].buffered.push_back(value);
  }
}

//===----------------------------------------------------------------------===//
// Functions and buffers
//===----------------------------------------------------------------------===//

void KernelEmitter::addBuffer(Value value, Type type, int64_t elements) {
  Value count = at->integer(elements);
  Value pointer = LLVM::AllocaOp::create(b, loc, pointerType, type, count, /*alignment=*/64);
  at->buffers[value] = {pointer, nullptr, type};
}

void KernelEmitter::allocateBuffers() {
  auto valueType = [](Value value) {
    Type type = nn::getComputeType(cast<RankedTensorType>(value.getType()).getElementType());
    return type.isInteger(1) ? Type(IntegerType::get(type.getContext(), 8)) : type;
  };
  bool isRows = schedule.walk == Walk::Rows;
  for (Phase &phase : phases) {
    for (Value value : phase.buffered)
      addBuffer(value, valueType(value), isRows ? schedule.axes[schedule.vectorAxis].size : schedule.block);
    for (Operation *reduction : phase.reductions)
      if (!isRows && runsOver(reduction->getResult(0), schedule.vectorAxis))
        addBuffer(reduction->getResult(0), wideType(reduction, schedule.reducedExtent()), schedule.block);
  }
}

/// The kernel proper: noalias pointers, so that loads need not wait for stores.
LLVM::LLVMFuncOp KernelEmitter::emitBody() {
  unsigned arguments = 0;
  for (const Access &access : llvm::concat<const Access>(schedule.operands, schedule.results))
    arguments = std::max(arguments, access.argument + 1);
  SmallVector<Type> inputs(arguments, pointerType);
  inputs.append(2, b.getI64Type());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), inputs);
  auto function = LLVM::LLVMFuncOp::create(b, loc, (symbol + ".body").str(), type, LLVM::Linkage::Internal);
  for (unsigned i = 0; i < arguments; ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(), b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  SmallVector<Value> pointers(entry->getArguments().take_front(arguments));
  at.emplace(b, loc, schedule, pointers);
  allocateBuffers();
  auto loop = scf::ForOp::create(b, loc, entry->getArgument(arguments), entry->getArgument(arguments + 1),
                                 at->integer(1));
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  b.setInsertionPointToStart(loop.getBody());
  openUnit(loop.getInductionVar());
  if (schedule.walk == Walk::Rows)
    emitRowsUnit();
  else
    emitColumnsUnit();
  return function;
}

/// The function that the runtime calls: takes the pointers out of their array.
void KernelEmitter::emitEntry(LLVM::LLVMFuncOp body) {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          {pointerType, b.getI64Type(), b.getI64Type()});
  auto function = LLVM::LLVMFuncOp::create(b, loc, symbol, type);
  OpBuilder::InsertionGuard guard(b);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  SmallVector<Value> operands;
  for (int32_t i = 0, count = static_cast<int32_t>(body.getNumArguments()) - 2; i < count; ++i) {
    Value slot =
        LLVM::GEPOp::create(b, loc, pointerType, pointerType, entry->getArgument(0), LLVM::GEPArg(i));
    operands.push_back(LLVM::LoadOp::create(b, loc, pointerType, slot));
  }
  operands.push_back(entry->getArgument(1));
  operands.push_back(entry->getArgument(2));
  LLVM::CallOp::create(b, loc, body, operands);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
}

void KernelEmitter::emit() {
  b.setInsertionPointToEnd(module.getBody());
  planPhases();
  LLVM::LLVMFuncOp body = emitBody();
  emitEntry(body);
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

/// The unit's element along each parallel axis, and its block of columns.
void KernelEmitter::openUnit(Value unit) {
  at->beginUnit();
  for (auto &[value, buffer] : at->buffers)
    buffer.ready = false;
  bool isColumns = schedule.walk == Walk::Columns;
  Value rest = unit, block;
  auto take = [&](int64_t size, bool isLast) -> Value {
    if (size == 1)
      return at->integer(0);
    if (isLast)
      return rest;
    Value index = arith::RemUIOp::create(b, loc, rest, at->integer(size));
    rest = arith::DivUIOp::create(b, loc, rest, at->integer(size));
    return index;
  };
  int outer = static_cast<int>(schedule.parallelAxes) - (isColumns ? 1 : 0);
  if (isColumns)
    block = take(schedule.blocksPerRow(), outer == 0);
  for (int axis = outer - 1; axis >= 0; --axis)
    at->iv[axis] = take(schedule.axes[axis].size, axis == 0);
  if (!isColumns)
    return;
  int64_t size = schedule.axes[schedule.vectorAxis].size;
  if (schedule.blocksPerRow() == 1) {
    blockLow = at->integer(0);
    blockHigh = at->integer(size);
    return;
  }
  blockLow =
      arith::MulIOp::create(b, loc, block, at->integer(schedule.block), arith::IntegerOverflowFlags::nsw);
  blockHigh =
      arith::AddIOp::create(b, loc, blockLow, at->integer(schedule.block), arith::IntegerOverflowFlags::nsw);
  blockHigh = arith::MinSIOp::create(b, loc, blockHigh, at->integer(size));
  at->blockStart = blockLow;
  for (auto &[value, buffer] : at->buffers)
    buffer.start = blockLow;
}

scf::ForOp KernelEmitter::openLoop(unsigned axis, Value low, Value high, int64_t step, ValueRange carried) {
  auto loop = scf::ForOp::create(b, loc, low, high, at->integer(step), carried);
  b.setInsertionPointToStart(loop.getBody());
  at->iv[axis] = loop.getInductionVar();
  if (!at->nest)
    at->nest = loop;
  return loop;
}

void KernelEmitter::emitRowsUnit() {
  for (Phase &phase : phases) {
    if (phase.reductions.empty() && phase.stores.empty())
      continue;
    reduceRow(phase);
    for (Value value : phase.buffered)
      at->buffers[value].ready = true;
  }
  emitResultsOfUnit();
}

void KernelEmitter::emitColumnsUnit() {
  for (Phase &phase : phases)
    emitColumnsPhase(phase);
  emitResultsOfUnit();
}

/// Results over parallel axes only, once all that they need is known and all that needs what they overwrite
/// is done.
void KernelEmitter::emitResultsOfUnit() {
  SmallVector<std::pair<unsigned, Value>> scalars;
  SmallVector<unsigned> columns;
  for (unsigned result : unitResults) {
    Value value = terminator()->getOperand(result);
    if (at->isUnitValue(value))
      scalars.emplace_back(result, at->evaluate(value));
    else
      columns.push_back(result);
  }
  if (!columns.empty()) {
    OpBuilder::InsertionGuard guard(b);
    openLoop(schedule.vectorAxis, blockLow, blockHigh, 1);
    at->beginPoint();
    SmallVector<Value> values;
    for (unsigned result : columns)
      values.push_back(at->evaluate(terminator()->getOperand(result)));
    for (auto [result, value] : llvm::zip_equal(columns, values))
      at->store(result, value);
    at->iv[schedule.vectorAxis] = nullptr;
    at->nest = nullptr;
  }
  for (auto [result, value] : scalars)
    at->store(result, value);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The type that sums of `elements` elements are kept in.
Type KernelEmitter::wideType(Operation *reduction, int64_t elements) {
  Type type = nn::getComputeType(cast<RankedTensorType>(reduction->getResult(0).getType()).getElementType());
  if (isa<nn::ReduceSumOp>(reduction) && type.isF32() && elements > singlePrecisionSum)
    return b.getF64Type();
  return type;
}

Value KernelEmitter::extend(Value value, Type type) {
  return value.getType() == type ? value : arith::ExtFOp::create(b, loc, type, value).getResult();
}

Value KernelEmitter::identity(Operation *reduction, Type type) {
  double value = isa<nn::ReduceSumOp>(reduction) ? 0.0 : -std::numeric_limits<double>::infinity();
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

/// Sums may be reassociated, so that they run in vectors: the order is fixed when the kernel is compiled.
Value KernelEmitter::combine(Operation *reduction, Value accumulated, Value value) {
  value = extend(value, accumulated.getType());
  if (isa<nn::ReduceMaxOp>(reduction))
    return arith::MaximumFOp::create(b, loc, accumulated, value);
  auto flags = arith::FastMathFlags::reassoc | arith::FastMathFlags::contract;
  return arith::AddFOp::create(b, loc, accumulated, value, flags);
}

/// The loops over the reduced axes: one reduction result per unit, and stores along the way.
void KernelEmitter::reduceRow(const Phase &phase) {
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Value> carried;
  for (Operation *reduction : phase.reductions)
    carried.push_back(identity(reduction, wideType(reduction, schedule.reducedExtent())));
  SmallVector<Value> results = reduceOuter(phase, schedule.parallelAxes, carried);
  for (Value &index : MutableArrayRef(at->iv).drop_front(schedule.parallelAxes))
    index = nullptr;
  at->nest = nullptr;
  for (auto [reduction, result] : llvm::zip_equal(phase.reductions, results)) {
    Type type =
        nn::getComputeType(cast<RankedTensorType>(reduction->getResult(0).getType()).getElementType());
    if (result.getType() != type)
      result = arith::TruncFOp::create(b, loc, type, result);
    at->setUnitValue(reduction->getResult(0), result);
  }
}

/// The loop over `axis` and those inside it; leaves the insertion point after it.
SmallVector<Value> KernelEmitter::reduceOuter(const Phase &phase, unsigned axis, ValueRange carried) {
  int64_t size = schedule.axes[axis].size;
  auto addPartial = [&](ValueRange accumulated, ValueRange partial) {
    SmallVector<Value> sums;
    for (auto [reduction, sum, value] : llvm::zip_equal(phase.reductions, accumulated, partial))
      sums.push_back(combine(reduction, sum, value));
    return sums;
  };
  bool isLast = axis + 1 == schedule.axes.size();
  if (isLast && size <= schedule.block)
    return addPartial(carried, reduceInner(phase, at->integer(0), at->integer(size)));
  OpBuilder::InsertPoint before = b.saveInsertionPoint();
  scf::ForOp loop = openLoop(axis, at->integer(0), at->integer(size), isLast ? schedule.block : 1, carried);
  SmallVector<Value> results;
  if (isLast) {
    Value low = loop.getInductionVar();
    Value high =
        arith::AddIOp::create(b, loc, low, at->integer(schedule.block), arith::IntegerOverflowFlags::nsw);
    high = arith::MinSIOp::create(b, loc, high, at->integer(size));
    results = addPartial(loop.getRegionIterArgs(), reduceInner(phase, low, high));
  } else {
    results = reduceOuter(phase, axis + 1, loop.getRegionIterArgs());
  }
  if (!results.empty())
    scf::YieldOp::create(b, loc, results);
  b.restoreInsertionPoint(before);
  b.setInsertionPointAfter(loop);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> KernelEmitter::reduceInner(const Phase &phase, Value low, Value high) {
  SmallVector<Value> initial;
  for (Operation *reduction : phase.reductions)
    initial.push_back(identity(
        reduction,
        nn::getComputeType(cast<RankedTensorType>(reduction->getResult(0).getType()).getElementType())));
  scf::ForOp loop = openLoop(schedule.axes.size() - 1, low, high, 1, initial);
  at->beginPoint();
  SmallVector<Value> inputs, kept, stored;
  for (Operation *reduction : phase.reductions)
    inputs.push_back(at->evaluate(reduction->getOperand(0)));
  if (schedule.walk == Walk::Rows) {
    for (Value value : phase.buffered)
      kept.push_back(at->evaluate(value));
    for (unsigned result : phase.stores)
      stored.push_back(at->evaluate(terminator()->getOperand(result)));
    for (auto [value, scalar] : llvm::zip_equal(phase.buffered, kept))
      at->storeBuffer(at->buffers[value], scalar);
    for (auto [result, scalar] : llvm::zip_equal(phase.stores, stored))
      at->store(result, scalar);
  }
  SmallVector<Value> combined;
  for (auto [reduction, accumulated, input] :
       llvm::zip_equal(phase.reductions, loop.getRegionIterArgs(), inputs))
    combined.push_back(combine(reduction, accumulated, input));
  if (!combined.empty())
    scf::YieldOp::create(b, loc, combined);
  b.setInsertionPointAfter(loop);
  return SmallVector<Value>(loop.getResults());
}

/// Columns: what is computed once per column, then the rows, which accumulate into buffers of one block.
void KernelEmitter::emitColumnsPhase(Phase &phase) {
  unsigned vector = schedule.vectorAxis;
  Phase scalars; // reductions that do not run over the columns
  SmallVector<Operation *> reductions;
  for (Operation *reduction : phase.reductions)
    (runsOver(reduction->getResult(0), vector) ? reductions : scalars.reductions).push_back(reduction);
  if (!scalars.reductions.empty())
    reduceRow(scalars);
  if (!phase.buffered.empty() || !reductions.empty()) {
    OpBuilder::InsertionGuard guard(b);
    openLoop(vector, blockLow, blockHigh, 1);
    at->beginPoint();
    for (Value value : phase.buffered)
      at->storeBuffer(at->buffers[value], at->evaluate(value));
    for (Operation *reduction : reductions) {
      const auto &buffer = at->buffers[reduction->getResult(0)];
      at->storeBuffer(buffer, identity(reduction, buffer.type));
    }
    at->iv[vector] = nullptr;
    at->nest = nullptr;
  }
  for (Value value : phase.buffered)
    at->buffers[value].ready = true;
  if (!reductions.empty() || !phase.stores.empty()) {
    OpBuilder::InsertionGuard guard(b);
    for (unsigned axis = schedule.parallelAxes; axis < schedule.axes.size(); ++axis)
      openLoop(axis, at->integer(0), at->integer(schedule.axes[axis].size), 1);
    openLoop(vector, blockLow, blockHigh, 1);
    at->beginPoint();
    SmallVector<Value> inputs, stored;
    for (Operation *reduction : reductions)
      inputs.push_back(at->evaluate(reduction->getOperand(0)));
    for (unsigned result : phase.stores)
      stored.push_back(at->evaluate(terminator()->getOperand(result)));
    for (auto [reduction, input] : llvm::zip_equal(reductions, inputs)) {
      const auto &buffer = at->buffers[reduction->getResult(0)];
      at->storeBuffer(buffer, combine(reduction, at->loadBuffer(buffer), input));
    }
    for (auto [result, scalar] : llvm::zip_equal(phase.stores, stored))
      at->store(result, scalar);
    for (unsigned axis = schedule.vectorAxis; axis < schedule.axes.size(); ++axis)
      at->iv[axis] = nullptr;
    at->nest = nullptr;
  }
  for (Operation *reduction : reductions)
    at->buffers[reduction->getResult(0)].ready = true;
}

void codegen::emitKernel(ModuleOp module, nn::FusionOp fusion, const Schedule &schedule, StringRef symbol) {
  KernelEmitter(module, fusion, schedule, symbol).emit();
}
