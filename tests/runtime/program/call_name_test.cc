#include "runtime/program/call_name.h"

#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace pdc::program {
namespace {

std::unique_ptr<OperandT> Operand(std::vector<int64_t> shape, std::vector<int64_t> strides, ElementType type) {
  auto operand = std::make_unique<OperandT>();
  operand->shape = std::move(shape);
  operand->strides = std::move(strides);
  operand->element_type = type;
  return operand;
}

TEST(CallNameTest, SaysWhatIsCalledAndHowOperandsLie) {
  InstructionT instruction;
  instruction.opcode = Opcode::kLibrary;
  instruction.label = "fc1 matmul";
  instruction.target = "matmul";
  instruction.operands.push_back(Operand({4, 8}, {8, 1}, ElementType::kBF16));
  instruction.operands.push_back(Operand({8, 2}, {1, 8}, ElementType::kBF16));
  instruction.operands.push_back(Operand({}, {}, ElementType::kF32));
  EXPECT_EQ(CallName(instruction), "matmul(4x8:bf16, 8x2:bf16@1x8, :f32)");
}

TEST(CallNameTest, CopiesAndFillsHaveNoTarget) {
  InstructionT instruction;
  instruction.opcode = Opcode::kFill;
  instruction.operands.push_back(Operand({3}, {1}, ElementType::kI32));
  EXPECT_EQ(CallName(instruction), "fill(3:i32)");
  instruction.opcode = Opcode::kCopy;
  instruction.operands.push_back(Operand({3}, {1}, ElementType::kI32));
  EXPECT_EQ(CallName(instruction), "copy(3:i32, 3:i32)");
}

}  // namespace
}  // namespace pdc::program
