#include "runtime/program/dump.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

absl::string_view Absl(std::string_view text) { return absl::string_view(text.data(), text.size()); }

std::string TypeText(absl::Span<const int64_t> shape, ElementType type) {
  std::string text;
  for (int64_t dimension : shape) absl::StrAppend(&text, dimension, "x");
  absl::StrAppend(&text, Absl(ElementName(type)));
  return text;
}

std::string List(absl::Span<const int64_t> values) {
  return absl::StrCat("[", absl::StrJoin(values, ","), "]");
}

std::string BufferLine(const Buffer& buffer, uint32_t index) {
  std::string line =
      absl::StrCat("  buffer ", index, ": ", buffer.segment() == Segment::kShared ? "shared" : "private", "[",
                   buffer.offset(), ", +", buffer.bytes(), ") ",
                   TypeText(Span(buffer.shape()), buffer.element_type()), " ", BufferName(buffer));
  if (Size(buffer.global_shape()) != 0 && Span(buffer.global_shape()) != Span(buffer.shape())) {
    absl::StrAppend(&line, " of ", List(Span(buffer.global_shape())), " at ", List(Span(buffer.start())));
  }
  if (Size(buffer.declared_shape()) != 0) {
    absl::StrAppend(&line, " declared ", List(Span(buffer.declared_shape())));
  }
  if (buffer.first_use() >= 0 || buffer.last_use() >= 0) {
    absl::StrAppend(&line, " live ", buffer.first_use(), "..", buffer.last_use());
  }
  if (buffer.id_limit() > 0) {
    absl::StrAppend(&line, " ids 0 to ", buffer.id_limit() - 1);
    if (buffer.ignorable()) absl::StrAppend(&line, " or ", buffer.ignored_id());
  }
  return absl::StrCat(line, "\n");
}

std::string OperandText(const Operand& operand) {
  static constexpr absl::string_view kAccess[] = {"read", "write", "readwrite"};
  std::string text = absl::StrCat(kAccess[static_cast<int>(operand.access())], " %", operand.buffer());
  if (operand.offset_elements() != 0) absl::StrAppend(&text, "+", operand.offset_elements());
  absl::StrAppend(&text, " ", TypeText(Span(operand.shape()), operand.element_type()));
  if (Size(operand.shape()) == Size(operand.strides()) &&
      !IsDense(Span(operand.shape()), Span(operand.strides()))) {
    absl::StrAppend(&text, " strides ", List(Span(operand.strides())));
  }
  return text;
}

std::string AttributesText(const Instruction& instruction) {
  std::string text;
  if (instruction.integers() != nullptr) {
    for (const IntegerAttribute* attribute : *instruction.integers()) {
      absl::StrAppend(&text, " ", Absl(Text(attribute->name())), "=", List(Span(attribute->values())));
    }
  }
  if (instruction.floats() != nullptr) {
    for (const FloatAttribute* attribute : *instruction.floats()) {
      absl::StrAppend(&text, " ", Absl(Text(attribute->name())), "=[",
                      absl::StrJoin(Span(attribute->values()), ","), "]");
    }
  }
  return text;
}

std::string OpcodeText(const Instruction& instruction) {
  std::string target(Text(instruction.target()));
  switch (instruction.opcode()) {
    case Opcode::kKernel:
      return absl::StrCat("kernel ", target, " extent ", instruction.parallel_extent());
    case Opcode::kLibrary:
      return absl::StrCat("library ", target);
    case Opcode::kFill:
      return "fill";
    case Opcode::kCopy:
      return "copy";
    case Opcode::kCollectiveStart: {
      std::string text = absl::StrCat("start ", target, " group ", instruction.group());
      if (target == "all_reduce" || target == "reduce_scatter") {
        absl::StrAppend(&text, instruction.reduce() == ReduceOp::kSum ? " sum" : " max");
      }
      if (target == "broadcast") absl::StrAppend(&text, " root ", instruction.root());
      return text;
    }
    case Opcode::kCollectiveDone:
      return absl::StrCat("done ", instruction.start_index());
    case Opcode::kSend:
      return absl::StrCat("send to ", instruction.peer(), " tag ", instruction.tag());
    case Opcode::kReceive:
      return absl::StrCat("receive from ", instruction.peer(), " tag ", instruction.tag());
  }
  return "unknown";
}

std::string InstructionLine(const Instruction& instruction, uint32_t index) {
  std::string line = absl::StrCat("  ", index, ": ", OpcodeText(instruction));
  if (instruction.operands() != nullptr) {
    for (const Operand* operand : *instruction.operands())
      absl::StrAppend(&line, ", ", OperandText(*operand));
  }
  if (instruction.workspace() >= 0) absl::StrAppend(&line, ", workspace %", instruction.workspace());
  absl::StrAppend(&line, AttributesText(instruction));
  if (!Text(instruction.label()).empty()) absl::StrAppend(&line, "  // ", Absl(Text(instruction.label())));
  return absl::StrCat(line, "\n");
}

}  // namespace

std::string DumpProgram(const Program& program) {
  std::string text =
      absl::StrCat("program ", Absl(ModeName(program.mode())), " private ", program.private_bytes(),
                   " shared ", program.shared_bytes(), " bytes, ", program.local_batch(), " samples from ",
                   program.batch_start(), " on of ", program.batch(), "\n");
  for (uint32_t i = 0; i < Size(program.groups()); ++i) {
    absl::StrAppend(&text, "  group ", i, ": ranks [",
                    absl::StrJoin(Span(program.groups()->Get(i)->ranks()), ","), "]\n");
  }
  for (uint32_t i = 0; i < Size(program.buffers()); ++i) text += BufferLine(*program.buffers()->Get(i), i);
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    text += InstructionLine(*program.instructions()->Get(i), i);
  }
  return text;
}

std::string DumpExecutable(const Executable& executable) {
  std::string text =
      absl::StrCat("executable ", Absl(Text(executable.model())), ": ", executable.ranks(), " ranks, ",
                   executable.threads(), " threads, precision ", Absl(Text(executable.precision())),
                   ", optimizer ", Absl(Text(executable.optimizer())), "\n");
  if (executable.rank_programs() != nullptr) {
    for (const RankPrograms* entry : *executable.rank_programs()) {
      absl::StrAppend(&text, "rank ", entry->rank(), ": programs [",
                      absl::StrJoin(Span(entry->programs()), ","), "]\n");
    }
  }
  for (uint32_t i = 0; i < Size(executable.programs()); ++i) {
    absl::StrAppend(&text, i, ": ", DumpProgram(*executable.programs()->Get(i)));
  }
  return text;
}

}  // namespace pdc::program
