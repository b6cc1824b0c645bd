//===- Instruction.cpp - one op of rt as an instruction -------------------===//

#include "passes/memory/Instruction.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pdc;
using namespace pdc::passes;
using program::Access;
using program::Opcode;

program::ElementType passes::toElementType(Type type) {
  if (type.isF32())
    return program::ElementType::kF32;
  if (type.isF64())
    return program::ElementType::kF64;
  if (type.isBF16())
    return program::ElementType::kBF16;
  if (type.isF16())
    return program::ElementType::kF16;
  if (type.isInteger(64))
    return program::ElementType::kI64;
  if (type.isInteger(32))
    return program::ElementType::kI32;
  if (type.isInteger(1))
    return program::ElementType::kI1;
  // Rt_Memory admits no others.
  return type.isUnsignedInteger(8) ? program::ElementType::kU8 : program::ElementType::kI8;
}

program::OperandT passes::toOperand(Value memory, Access access,
                                    function_ref<uint32_t(rt::BufferOp)> bufferIndex, size_t rankIndex) {
  auto type = cast<MemRefType>(memory.getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset); // the verifier of rt.view has asked
  program::OperandT operand;
  operand.buffer = bufferIndex(rt::getBuffer(memory));
  operand.access = access;
  operand.element_type = toElementType(type.getElementType());
  operand.offset_elements = offset;
  if (auto view = memory.getDefiningOp<rt::ViewOp>(); view && view.getRankOffsets())
    operand.offset_elements += (*view.getRankOffsets())[rankIndex];
  operand.shape.assign(type.getShape().begin(), type.getShape().end());
  operand.strides.assign(strides.begin(), strides.end());
  return operand;
}

namespace {
struct InstructionBuilder {
  function_ref<uint32_t(rt::BufferOp)> bufferIndex;
  size_t rankIndex;
  program::InstructionT instruction;

  void add(Value memory, Access access) {
    instruction.operands.push_back(
        std::make_unique<program::OperandT>(toOperand(memory, access, bufferIndex, rankIndex)));
  }
  void addAll(ValueRange reads, ValueRange writes) {
    for (Value memory : reads)
      add(memory, Access::kRead);
    for (Value memory : writes)
      add(memory, Access::kWrite);
  }
  template <typename OpT> void estimate(OpT op, Opcode opcode) {
    instruction.opcode = opcode;
    instruction.label = op.getLabel().str();
    instruction.flops = op.getFlops().convertToDouble();
    instruction.traffic_bytes = op.getTrafficBytes().convertToDouble();
  }
  void addIntegers(StringRef name, ArrayRef<int64_t> values) {
    auto attribute = std::make_unique<program::IntegerAttributeT>();
    attribute->name = name.str();
    attribute->values.assign(values.begin(), values.end());
    instruction.integers.push_back(std::move(attribute));
  }

  void build(rt::KernelOp op) {
    estimate(op, Opcode::kKernel);
    instruction.target = op.getCallee().str();
    for (auto [index, memory] : llvm::enumerate(op.getReads()))
      add(memory, llvm::is_contained(op.getUpdates(), static_cast<int64_t>(index)) ? Access::kReadWrite
                                                                                   : Access::kRead);
    addAll({}, op.getWrites());
  }
  void build(rt::LibraryOp op) {
    estimate(op, Opcode::kLibrary);
    instruction.target = op.getTarget().str();
    addAll(op.getReads(), op.getWrites());
    if (op.getWorkspace())
      instruction.workspace = static_cast<int32_t>(bufferIndex(rt::getBuffer(op.getWorkspace())));
    for (NamedAttribute attribute : op.getIntegers())
      addIntegers(attribute.getName(), cast<DenseI64ArrayAttr>(attribute.getValue()));
    for (NamedAttribute attribute : op.getFloats()) {
      auto floats = std::make_unique<program::FloatAttributeT>();
      floats->name = attribute.getName().str();
      ArrayRef<double> values = cast<DenseF64ArrayAttr>(attribute.getValue());
      floats->values.assign(values.begin(), values.end());
      instruction.floats.push_back(std::move(floats));
    }
  }
  void build(rt::FillOp op) {
    estimate(op, Opcode::kFill);
    add(op.getMemory(), Access::kWrite);
  }
  void build(rt::CopyOp op) {
    estimate(op, Opcode::kCopy);
    addAll(op.getFrom(), op.getTo());
  }
  void build(rt::CollectiveStartOp op) {
    estimate(op, Opcode::kCollectiveStart);
    instruction.target = op.getTarget().str();
    instruction.reduce =
        op.getReduction() == rt::Reduction::Max ? program::ReduceOp::kMax : program::ReduceOp::kSum;
    instruction.root = static_cast<int32_t>(op.getRoot().value_or(0));
    if (op.getSent())
      addAll(op.getSent(), op.getMemory());
    else
      add(op.getMemory(), Access::kReadWrite);
    instruction.tag = static_cast<int32_t>(op.getOrder().value_or(0));
    if (op.getCounts())
      addIntegers("counts", *op.getCounts());
  }
  // The peer is that of one rank: who writes the program of a rank sets it.
  void build(rt::SendStartOp op) {
    estimate(op, Opcode::kSend);
    add(op.getMemory(), Access::kRead);
    instruction.tag = static_cast<int32_t>(op.getTag());
  }
  void build(rt::ReceiveStartOp op) {
    estimate(op, Opcode::kReceive);
    add(op.getMemory(), Access::kWrite);
    instruction.tag = static_cast<int32_t>(op.getTag());
  }
  void build(rt::CollectiveDoneOp op) {
    instruction.opcode = Opcode::kCollectiveDone;
    llvm::TypeSwitch<Operation *>(op.getToken().getDefiningOp())
        .Case<rt::CollectiveStartOp, rt::SendStartOp, rt::ReceiveStartOp>(
            [&](auto start) { instruction.label = (start.getLabel() + " done").str(); });
  }
};
} // namespace

program::InstructionT passes::toInstruction(Operation *op, function_ref<uint32_t(rt::BufferOp)> bufferIndex,
                                            size_t rankIndex) {
  InstructionBuilder builder{bufferIndex, rankIndex, {}};
  llvm::TypeSwitch<Operation *>(op)
      .Case<rt::KernelOp, rt::LibraryOp, rt::FillOp, rt::CopyOp, rt::CollectiveStartOp, rt::SendStartOp,
            rt::ReceiveStartOp, rt::CollectiveDoneOp>([&](auto instruction) { builder.build(instruction); });
  return std::move(builder.instruction);
}
