#include "runtime/program/reader.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

// GPT-2 medium has some 10^4 instructions with a handful of operands each; attributes and buffers come on
// top.
constexpr flatbuffers::uoffset_t kMaxDepth = 16;
constexpr flatbuffers::uoffset_t kMaxTables = 50'000'000;

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("the program section is malformed: ", what, "; compile the model again"));
}

template <typename Enum>
bool Known(Enum value, Enum last) {
  return static_cast<int>(value) >= 0 && static_cast<int>(value) <= static_cast<int>(last);
}

// The FlatBuffers verifier looks at the alignment of a vector's length, not at that of elements larger than it.
template <typename T>
bool Aligned(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr || reinterpret_cast<uintptr_t>(vector->Data()) % sizeof(T) == 0;
}

absl::Status CheckBuffer(const Buffer& buffer, absl::string_view where) {
  if (!Aligned(buffer.shape()) || !Aligned(buffer.global_shape()) || !Aligned(buffer.start()) ||
      !Aligned(buffer.declared_shape())) {
    return Malformed(absl::StrCat(where, " has a misaligned shape"));
  }
  if (!Known(buffer.kind(), BufferKind::MAX) || !Known(buffer.segment(), Segment::MAX) ||
      !Known(buffer.element_type(), ElementType::MAX) || !Known(buffer.reduction(), OutputReduction::MAX) ||
      (buffer.initializer() != nullptr && !Known(buffer.initializer()->kind(), InitializerKind::MAX))) {
    return Malformed(
        absl::StrCat(where, " has an unknown kind, segment, element type, reduction or initializer"));
  }
  return absl::OkStatus();
}

absl::Status CheckInstruction(const Instruction& instruction, absl::string_view where) {
  if (!Known(instruction.opcode(), Opcode::MAX) || !Known(instruction.reduce(), ReduceOp::MAX)) {
    return Malformed(absl::StrCat(where, " has an unknown opcode or reduction"));
  }
  if (instruction.integers() != nullptr) {
    for (const IntegerAttribute* attribute : *instruction.integers()) {
      if (!Aligned(attribute->values())) return Malformed(absl::StrCat(where, " has a misaligned attribute"));
    }
  }
  if (instruction.floats() != nullptr) {
    for (const FloatAttribute* attribute : *instruction.floats()) {
      if (!Aligned(attribute->values())) return Malformed(absl::StrCat(where, " has a misaligned attribute"));
    }
  }
  if (instruction.operands() == nullptr) return absl::OkStatus();
  for (const Operand* operand : *instruction.operands()) {
    if (!Known(operand->access(), Access::MAX) || !Known(operand->element_type(), ElementType::MAX)) {
      return Malformed(absl::StrCat(where, " has an operand of unknown access or element type"));
    }
    if (!Aligned(operand->shape()) || !Aligned(operand->strides())) {
      return Malformed(absl::StrCat(where, " has an operand of misaligned shape"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckProgram(const Program& program, uint32_t index) {
  if (!Known(program.mode(), Mode::MAX))
    return Malformed(absl::StrCat("program ", index, " has an unknown mode"));
  for (uint32_t i = 0; i < Size(program.buffers()); ++i) {
    absl::Status status =
        CheckBuffer(*program.buffers()->Get(i), absl::StrCat("buffer ", i, " of program ", index));
    if (!status.ok()) return status;
  }
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    absl::Status status = CheckInstruction(*program.instructions()->Get(i),
                                           absl::StrCat("instruction ", i, " of program ", index));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<const Executable*> ReadExecutable(std::string_view section) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(section.data());
  if (reinterpret_cast<uintptr_t>(bytes) % 8 != 0) {
    return absl::InvalidArgumentError("the program section must be aligned to 8 bytes in memory");
  }
  flatbuffers::Verifier verifier(bytes, section.size(), kMaxDepth, kMaxTables);
  if (section.size() < 8 || !ExecutableBufferHasIdentifier(bytes) || !VerifyExecutableBuffer(verifier)) {
    return Malformed("the FlatBuffers verifier refuses it");
  }
  const Executable* executable = GetExecutable(bytes);
  for (uint32_t i = 0; i < Size(executable->programs()); ++i) {
    absl::Status status = CheckProgram(*executable->programs()->Get(i), i);
    if (!status.ok()) return status;
  }
  return executable;
}

std::string WriteExecutable(const ExecutableT& executable) {
  flatbuffers::FlatBufferBuilder builder(1 << 20);
  FinishExecutableBuffer(builder, Executable::Pack(builder, &executable));
  return std::string(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
}

const Program* FindProgram(const Executable& executable, int rank, Mode mode) {
  if (executable.rank_programs() == nullptr || executable.programs() == nullptr) return nullptr;
  for (const RankPrograms* entry : *executable.rank_programs()) {
    if (entry->rank() != rank) continue;
    for (uint32_t index : Span(entry->programs())) {
      if (index >= executable.programs()->size()) continue;
      const Program* program = executable.programs()->Get(index);
      if (program->mode() == mode) return program;
    }
  }
  return nullptr;
}

}  // namespace pdc::program
