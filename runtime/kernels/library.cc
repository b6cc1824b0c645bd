#include "runtime/kernels/library.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/status.h"
#include "runtime/program/view.h"

namespace pdc::kernels {
namespace {

// Filled by static constructors, so it must be made by whichever comes first.
std::map<std::string, Definition, std::less<>>& Registry() {
  static auto* registry = new std::map<std::string, Definition, std::less<>>;
  return *registry;
}

std::string Target(const program::Instruction& instruction) {
  return std::string(program::Text(instruction.target()));
}

}  // namespace

Registration::Registration(Definition definition) {
  std::string name = definition.name;
  Registry().emplace(std::move(name), std::move(definition));
}

absl::StatusOr<const Definition*> FindCall(std::string_view name) {
  auto found = Registry().find(name);
  if (found != Registry().end()) return &found->second;
  return absl::NotFoundError(
      absl::StrCat("there is no library call '", std::string(name), "'; this runtime has ",
                   absl::StrJoin(Registry(), ", ",
                                 [](std::string* out, const auto& entry) { out->append(entry.first); })));
}

absl::StatusOr<int64_t> WorkspaceBytes(const program::Instruction& instruction, int threads) {
  PDC_ASSIGN_OR_RETURN(const Definition* definition, FindCall(program::Text(instruction.target())));
  if (definition->workspace_bytes == nullptr) return 0;
  return definition->workspace_bytes(instruction, threads);
}

absl::StatusOr<int64_t> WorkspaceBytes(const program::InstructionT& instruction, int threads) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Instruction::Pack(builder, &instruction));
  return WorkspaceBytes(*flatbuffers::GetRoot<program::Instruction>(builder.GetBufferPointer()), threads);
}

double Flops(const program::Instruction& instruction) {
  absl::StatusOr<const Definition*> definition = FindCall(program::Text(instruction.target()));
  return definition.ok() && (*definition)->flops != nullptr ? (*definition)->flops(instruction) : 0;
}

absl::StatusOr<std::unique_ptr<Call>> PrepareCall(const program::Instruction& instruction,
                                                  const Binding& binding) {
  PDC_ASSIGN_OR_RETURN(const Definition* definition, FindCall(program::Text(instruction.target())));
  PDC_ASSIGN_OR_RETURN(int64_t needed, WorkspaceBytes(instruction, binding.workers.threads()));
  if (needed > binding.workspace_bytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(Target(instruction), " needs ", needed, " bytes of workspace on this machine with ",
                     binding.workers.threads(), " threads, and ", binding.workspace_bytes,
                     " were planned; compile the model again on this kind of machine with --threads=",
                     binding.workers.threads()));
  }
  return definition->prepare(instruction, binding);
}

bool View::dense() const { return program::IsDense(shape, strides); }

int64_t View::elements() const { return program::ElementCount(shape); }

View ViewOf(const program::Instruction& instruction, uint32_t operand) {
  const program::Operand& view = *instruction.operands()->Get(operand);
  return {view.element_type(), program::Span(view.shape()), program::Span(view.strides())};
}

absl::Status ExpectOperands(const program::Instruction& instruction, uint32_t reads, uint32_t writes) {
  uint32_t count = program::Size(instruction.operands());
  if (count != reads + writes) {
    return absl::InvalidArgumentError(
        absl::StrCat(Target(instruction), " takes ", reads + writes, " operands, found ", count));
  }
  for (uint32_t i = 0; i < count; ++i) {
    bool read = instruction.operands()->Get(i)->access() == program::Access::kRead;
    if (read == (i < reads)) continue;
    return CallError(instruction, absl::StrCat("operand ", i, " must be ", i < reads ? "read" : "written"));
  }
  return absl::OkStatus();
}

absl::Status CallError(const program::Instruction& instruction, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat(Target(instruction), ": ", message));
}

absl::Status CallUnsupported(const program::Instruction& instruction, absl::string_view message) {
  return absl::UnimplementedError(absl::StrCat(Target(instruction), ": ", message, " is not supported yet"));
}

std::string ToString(const View& view) {
  std::string_view type = program::ElementName(view.type);
  std::string text = absl::StrCat("[", absl::StrJoin(view.shape, ","), "]x", std::string(type));
  if (!view.dense()) absl::StrAppend(&text, " strides [", absl::StrJoin(view.strides, ","), "]");
  return text;
}

}  // namespace pdc::kernels
