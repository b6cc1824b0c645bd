#include "runtime/program/call_name.h"

#include <vector>

#include "runtime/program/view.h"

namespace pdc::program {

namespace {

std::string Target(const InstructionT& instruction) {
  if (instruction.opcode == Opcode::kFill) return "fill";
  return instruction.opcode == Opcode::kCopy ? "copy" : instruction.target;
}

void AppendSizes(const std::vector<int64_t>& sizes, std::string* text) {
  for (size_t i = 0; i < sizes.size(); ++i) *text += (i == 0 ? "" : "x") + std::to_string(sizes[i]);
}

}  // namespace

std::string CallName(const InstructionT& instruction) {
  std::string text = Target(instruction) + "(";
  for (size_t i = 0; i < instruction.operands.size(); ++i) {
    const OperandT& operand = *instruction.operands[i];
    if (i > 0) text += ", ";
    AppendSizes(operand.shape, &text);
    text += ":" + std::string(ElementName(operand.element_type));
    if (operand.strides.empty() || IsDense(operand.shape, operand.strides)) continue;
    text += '@';
    AppendSizes(operand.strides, &text);
  }
  return text + ")";
}

}  // namespace pdc::program
