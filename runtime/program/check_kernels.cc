// Generated code knows the sizes that it was made for and no others: a call must be the one of its signature.
#include <map>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

using Kernels = std::map<std::string_view, const Kernel*>;

std::string ViewText(Access access, ElementType type, absl::Span<const int64_t> shape,
                     absl::Span<const int64_t> strides) {
  std::string_view name = ElementName(type);
  return absl::StrCat(EnumNameAccess(access), " ", std::string(name), " [", absl::StrJoin(shape, ","),
                      "] with strides [", absl::StrJoin(strides, ","), "]");
}

// Where a dimension has one element its stride says nothing.
bool SameStrides(const Operand& operand, const KernelOperand& expected) {
  if (Size(operand.strides()) != Size(expected.strides())) return false;
  for (uint32_t d = 0; d < Size(operand.strides()); ++d) {
    if (operand.shape()->Get(d) > 1 && operand.strides()->Get(d) != expected.strides()->Get(d)) return false;
  }
  return true;
}

bool SameView(const Operand& operand, const KernelOperand& expected) {
  return operand.access() == expected.access() && operand.element_type() == expected.element_type() &&
         Span(operand.shape()) == Span(expected.shape()) && SameStrides(operand, expected);
}

absl::Status CheckCall(const Program& program, uint32_t index, const Kernels& kernels) {
  const Instruction& call = *program.instructions()->Get(index);
  auto found = kernels.find(Text(call.target()));
  if (found == kernels.end()) {
    return InstructionError(program, index,
                            absl::StrCat("calls kernel '", std::string(Text(call.target())),
                                         "', of which the executable has no signature"));
  }
  const Kernel& kernel = *found->second;
  if (Size(call.operands()) != Size(kernel.operands())) {
    return InstructionError(program, index,
                            absl::StrCat("has ", Size(call.operands()), " operands, and its kernel was made for ",
                                         Size(kernel.operands())));
  }
  if (call.parallel_extent() != kernel.parallel_extent()) {
    return InstructionError(program, index,
                            absl::StrCat("has parallel extent ", call.parallel_extent(),
                                         ", and its kernel was made for ", kernel.parallel_extent()));
  }
  for (uint32_t o = 0; o < Size(call.operands()); ++o) {
    const Operand& operand = *call.operands()->Get(o);
    const KernelOperand& expected = *kernel.operands()->Get(o);
    if (SameView(operand, expected)) continue;
    return InstructionError(
        program, index,
        absl::StrCat("operand ", o, " is ",
                     ViewText(operand.access(), operand.element_type(), Span(operand.shape()),
                              Span(operand.strides())),
                     ", and its kernel was made for ",
                     ViewText(expected.access(), expected.element_type(), Span(expected.shape()),
                              Span(expected.strides()))));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckKernels(const Executable& executable) {
  Kernels kernels;
  for (uint32_t k = 0; k < Size(executable.kernels()); ++k) {
    const Kernel& kernel = *executable.kernels()->Get(k);
    if (kernels.emplace(Text(kernel.symbol()), &kernel).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("kernel '", std::string(Text(kernel.symbol())), "' has two signatures"));
  }
  for (uint32_t p = 0; p < Size(executable.programs()); ++p) {
    const Program& program = *executable.programs()->Get(p);
    for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
      if (program.instructions()->Get(i)->opcode() != Opcode::kKernel) continue;
      absl::Status status = CheckCall(program, i, kernels);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace pdc::program
