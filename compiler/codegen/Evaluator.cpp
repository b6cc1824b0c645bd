//===- Evaluator.cpp - values at a point of the loops ---------------------===//

#include "compiler/codegen/Evaluator.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::codegen;

static constexpr auto noWrap = arith::IntegerOverflowFlags::nsw;

/// The type of an element in memory: bf16 as its bits, i1 as a byte.
static Type storageType(Type elementType) {
  MLIRContext *context = elementType.getContext();
  if (elementType.isBF16())
    return IntegerType::get(context, 16);
  if (auto integer = dyn_cast<IntegerType>(elementType))
    return IntegerType::get(context, std::max(8u, integer.getWidth()));
  return elementType;
}

Evaluator::Evaluator(OpBuilder &builder, Location loc, const Schedule &schedule, SmallVector<Value> pointers)
    : iv(schedule.axes.size()), b(builder), loc(loc), schedule(schedule), pointers(std::move(pointers)) {}

Value Evaluator::integer(int64_t value) {
  return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value));
}

void Evaluator::beginUnit() {
  unitValues.clear();
  pointValues.clear();
  for (Value &index : iv)
    index = nullptr;
  nest = nullptr;
}

bool Evaluator::isUnitValue(Value value) const {
  AxisSet inside = schedule.reducedSet();
  if (schedule.walk == Walk::Columns)
    inside |= AxisSet(1) << schedule.vectorAxis;
  return !(schedule.axesOfValue.lookup(value) & inside);
}

Value Evaluator::evaluate(Value value) {
  bool ofUnit = isUnitValue(value);
  auto &known = ofUnit ? unitValues : pointValues;
  if (Value found = known.lookup(value))
    return found;
  OpBuilder::InsertionGuard guard(b);
  if (ofUnit && nest)
    b.setInsertionPoint(nest);
  Value result = compute(value);
  known[value] = result;
  return result;
}

Value Evaluator::compute(Value value) {
  if (auto buffer = buffers.find(value); buffer != buffers.end() && buffer->second.ready) {
    Value loaded = loadBuffer(buffer->second);
    Type type = nn::getComputeType(cast<RankedTensorType>(value.getType()).getElementType());
    // Buffers of sums are wider than the values.
    return loaded.getType() == type ? loaded : arith::TruncFOp::create(b, loc, type, loaded).getResult();
  }
  if (auto argument = dyn_cast<BlockArgument>(value))
    return load(schedule.operands[argument.getArgNumber()]);
  Operation *op = value.getDefiningOp();
  if (auto constantOp = dyn_cast<nn::ConstantOp>(op))
    return constant(constantOp);
  // A reshape, or a reduction over dimensions of size one.
  if (isa<nn::ReshapeOp, nn::ReduceSumOp, nn::ReduceMaxOp>(op))
    return evaluate(op->getOperand(0));
  SmallVector<Value> elements, index;
  for (Value operand : op->getOperands())
    elements.push_back(evaluate(operand));
  for (int64_t i = 0; i < cast<RankedTensorType>(value.getType()).getRank(); ++i)
    index.push_back(schedule.traits.lookup(op).usesPosition
                        ? elementIndex(value, i)
                        : arith::ConstantIndexOp::create(b, loc, 0).getResult());
  return cast<nn::ElementwiseOpInterface>(op).buildScalar(b, elements, index);
}

/// Loops that a position is asked of are never collapsed with others.
Value Evaluator::elementIndex(Value value, int64_t dimension) {
  int loop = schedule.space.loops.find(value)->second[dimension];
  for (auto [i, axis] : llvm::enumerate(schedule.axes))
    if (axis.loops.size() == 1 && axis.loops.front() == loop)
      return arith::IndexCastOp::create(b, loc, b.getIndexType(), iv[i]);
  return arith::ConstantIndexOp::create(b, loc, 0);
}

Value Evaluator::constant(nn::ConstantOp op) {
  auto value = cast<DenseElementsAttr>(op.getValue());
  Type elementType = value.getElementType(), computeType = nn::getComputeType(elementType);
  auto scalar = [&](Attribute element) -> Value {
    if (auto number = dyn_cast<FloatAttr>(element)) {
      APFloat converted = number.getValue();
      bool losesInformation;
      converted.convert(cast<FloatType>(computeType).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                        &losesInformation);
      return arith::ConstantOp::create(b, loc, FloatAttr::get(computeType, converted));
    }
    return arith::ConstantOp::create(b, loc,
                                     IntegerAttr::get(computeType, cast<IntegerAttr>(element).getValue()));
  };
  if (value.isSplat())
    return scalar(value.getSplatValue<Attribute>());
  // A table in the kernel library, one per use.
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  OpBuilder atStart = OpBuilder::atBlockBegin(module.getBody());
  int64_t count = value.getNumElements();
  SmallVector<Attribute> elements;
  Type stored = storageType(elementType);
  for (Attribute element : value.getValues<Attribute>()) {
    if (auto number = dyn_cast<FloatAttr>(element); number && elementType.isBF16())
      elements.push_back(IntegerAttr::get(stored, number.getValue().bitcastToAPInt()));
    else if (auto integer = dyn_cast<IntegerAttr>(element))
      elements.push_back(
          IntegerAttr::get(stored, integer.getValue().zextOrTrunc(stored.getIntOrFloatBitWidth())));
    else
      elements.push_back(element);
  }
  auto table = DenseElementsAttr::get(RankedTensorType::get({count}, stored), elements);
  std::string name =
      "table" + std::to_string(std::distance(module.getBody()->begin(), module.getBody()->end()));
  auto global = LLVM::GlobalOp::create(atStart, loc, LLVM::LLVMArrayType::get(stored, count),
                                       /*isConstant=*/true, LLVM::Linkage::Internal, name, table);
  Access access{0, elementType, SmallVector<int64_t>(schedule.axes.size(), 0)};
  int64_t stride = 1;
  auto type = cast<RankedTensorType>(op.getType());
  const auto &loops = schedule.space.loops.find(op.getResult())->second;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    for (auto [axis, stepped] : llvm::zip_equal(schedule.axes, access.strides))
      if (!axis.loops.empty() && loops[i] == axis.loops.back())
        stepped = stride;
    stride *= type.getDimSize(i);
  }
  access.argument = pointers.size();
  pointers.push_back(LLVM::AddressOfOp::create(b, loc, global));
  Value loaded = load(access);
  pointers.pop_back();
  return loaded;
}

Value Evaluator::address(const Access &access) {
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(iv, access.strides)) {
    if (stride == 0)
      continue;
    Value term =
        stride == 1 ? index : arith::MulIOp::create(b, loc, index, integer(stride), noWrap).getResult();
    offset = offset ? arith::AddIOp::create(b, loc, offset, term, noWrap).getResult() : term;
  }
  Value base = pointers[access.argument];
  if (!offset)
    return base;
  return LLVM::GEPOp::create(b, loc, base.getType(), storageType(access.elementType), base, offset,
                             LLVM::GEPNoWrapFlags::inbounds);
}

Value Evaluator::load(const Access &access) {
  Value stored = LLVM::LoadOp::create(b, loc, storageType(access.elementType), address(access));
  return toCompute(stored, access.elementType);
}

Value Evaluator::toCompute(Value stored, Type elementType) {
  if (elementType.isBF16()) {
    Value wide = arith::ExtUIOp::create(b, loc, b.getI32Type(), stored);
    wide = arith::ShLIOp::create(b, loc, wide, arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(16)));
    return arith::BitcastOp::create(b, loc, b.getF32Type(), wide);
  }
  if (elementType.isF16())
    return arith::ExtFOp::create(b, loc, b.getF32Type(), stored);
  if (elementType.isInteger(1))
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, stored,
                                 arith::ConstantOp::create(b, loc, b.getI8IntegerAttr(0)));
  return stored;
}

/// bf16 by integer arithmetic: every target rounds alike, to nearest even, and keeps subnormal numbers.
Value Evaluator::toStorage(Value scalar, Type elementType) {
  auto i32 = [&](int32_t value) { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); };
  if (elementType.isBF16()) {
    Value bits = arith::BitcastOp::create(b, loc, b.getI32Type(), scalar);
    Value odd = arith::AndIOp::create(b, loc, arith::ShRUIOp::create(b, loc, bits, i32(16)), i32(1));
    Value rounded = arith::AddIOp::create(b, loc, bits, arith::AddIOp::create(b, loc, odd, i32(0x7FFF)));
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, scalar, scalar);
    rounded =
        arith::SelectOp::create(b, loc, isNaN, arith::OrIOp::create(b, loc, bits, i32(0x400000)), rounded);
    rounded = arith::ShRUIOp::create(b, loc, rounded, i32(16));
    return arith::TruncIOp::create(b, loc, b.getI16Type(), rounded);
  }
  if (elementType.isF16())
    return arith::TruncFOp::create(b, loc, b.getF16Type(), scalar);
  if (elementType.isInteger(1))
    return arith::ExtUIOp::create(b, loc, b.getI8Type(), scalar);
  return scalar;
}

Value Evaluator::storesHere(AxisSet axes) {
  Value condition;
  auto require = [&](Value index) {
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, index, integer(0));
    condition = condition ? arith::AndIOp::create(b, loc, condition, isFirst).getResult() : isFirst;
  };
  for (auto [i, axis] : llvm::enumerate(schedule.axes)) {
    if ((axes >> i & 1) || axis.size == 1)
      continue;
    if (iv[i])
      require(iv[i]);
    else if (schedule.walk == Walk::Columns && i == schedule.vectorAxis && schedule.blocksPerRow() > 1)
      require(blockStart);
  }
  return condition;
}

void Evaluator::store(unsigned result, Value scalar) {
  const Access &access = schedule.results[result];
  AxisSet axes = 0;
  for (auto [i, stride] : llvm::enumerate(access.strides))
    if (stride != 0)
      axes |= AxisSet(1) << i;
  OpBuilder::InsertionGuard guard(b);
  if (Value condition = storesHere(axes)) {
    auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  Value stored = toStorage(scalar, access.elementType);
  LLVM::StoreOp::create(b, loc, stored, address(access));
}

Value Evaluator::bufferAddress(const Buffer &buffer) {
  Value index = iv[schedule.vectorAxis];
  if (buffer.start)
    index = arith::SubIOp::create(b, loc, index, buffer.start, noWrap);
  return LLVM::GEPOp::create(b, loc, buffer.pointer.getType(), storageType(buffer.type), buffer.pointer,
                             index, LLVM::GEPNoWrapFlags::inbounds);
}

Value Evaluator::loadBuffer(const Buffer &buffer) {
  return toCompute(LLVM::LoadOp::create(b, loc, storageType(buffer.type), bufferAddress(buffer)),
                   buffer.type);
}

void Evaluator::storeBuffer(const Buffer &buffer, Value scalar) {
  Value stored = toStorage(scalar, buffer.type);
  LLVM::StoreOp::create(b, loc, stored, bufferAddress(buffer));
}
