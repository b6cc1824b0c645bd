// Rules of the model's inputs.
#include <set>

#include "absl/strings/str_cat.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

const Input* FindInput(const Program& program, std::string_view name) {
  for (uint32_t i = 0; i < Size(program.inputs()); ++i) {
    if (Text(program.inputs()->Get(i)->name()) == name) return program.inputs()->Get(i);
  }
  return nullptr;
}

}  // namespace

absl::Status CheckInputs(const Program& program) {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < Size(program.inputs()); ++i) {
    std::string_view name = Text(program.inputs()->Get(i)->name());
    if (names.insert(name).second) continue;
    return absl::InvalidArgumentError(absl::StrCat(std::string(ModeName(program.mode())), " program: two inputs have the name '",
                                                   std::string(name), "'"));
  }
  for (uint32_t i = 0; i < Size(program.buffers()); ++i) {
    const Buffer& buffer = *program.buffers()->Get(i);
    if (buffer.kind() != BufferKind::kInput || names.empty()) continue;
    const Input* input = FindInput(program, Text(buffer.name()));
    if (input == nullptr) return BufferError(program, i, "is of no input that the program states");
    if (input->element_type() != buffer.element_type() || Span(input->shape()) != Span(buffer.global_shape())) {
      return BufferError(program, i, "has another type or whole shape than the input of its name");
    }
  }
  return absl::OkStatus();
}

}  // namespace pdc::program
