#include "tests/runtime/testing/program_builder.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "runtime/program/container.h"
#include "runtime/program/reader.h"
#include "runtime/program/view.h"

namespace pdc::testing {

using program::Access;
using program::BufferKind;
using program::ElementType;
using program::Opcode;
using program::Segment;

ProgramBuilder::ProgramBuilder(program::Mode mode) {
  program_.mode = mode;
  program_.batch = program_.local_batch = 3;
}

uint32_t ProgramBuilder::Buffer(BufferKind kind, std::string name, Dims shape, Segment segment,
                                ElementType type) {
  auto buffer = std::make_unique<program::BufferT>();
  uint64_t& end = segment == Segment::kShared ? program_.shared_bytes : program_.private_bytes;
  buffer->kind = kind;
  buffer->name = std::move(name);
  buffer->segment = segment;
  buffer->offset = end;
  buffer->bytes = program::ElementCount(shape) * program::ElementBytes(type);
  buffer->element_type = type;
  buffer->shape = std::move(shape);
  if (program::IsPersistent(kind)) buffer->initializer = std::make_unique<program::InitializerT>();
  end += (buffer->bytes + 63) / 64 * 64;
  program_.buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(program_.buffers.size() - 1);
}

uint32_t ProgramBuilder::Constant(const std::vector<float>& values) {
  uint32_t index = Buffer(BufferKind::kConstant, "constant", {static_cast<int64_t>(values.size())});
  program_.buffers[index]->constant.resize(values.size() * sizeof(float));
  std::memcpy(program_.buffers[index]->constant.data(), values.data(), values.size() * sizeof(float));
  return index;
}

program::InstructionT& ProgramBuilder::Add(Opcode opcode, std::string target, std::string label) {
  auto instruction = std::make_unique<program::InstructionT>();
  instruction->opcode = opcode;
  instruction->target = std::move(target);
  instruction->label = std::move(label);
  program_.instructions.push_back(std::move(instruction));
  return *program_.instructions.back();
}

program::OperandT& ProgramBuilder::Operand(program::InstructionT& instruction, uint32_t buffer,
                                           Access access) {
  auto operand = std::make_unique<program::OperandT>();
  operand->buffer = buffer;
  operand->access = access;
  operand->element_type = program_.buffers[buffer]->element_type;
  operand->shape = program_.buffers[buffer]->shape;
  operand->strides.resize(operand->shape.size());
  int64_t stride = 1;
  for (size_t d = operand->shape.size(); d-- > 0;) {
    operand->strides[d] = stride;
    stride *= operand->shape[d];
  }
  instruction.operands.push_back(std::move(operand));
  return *instruction.operands.back();
}

int32_t ProgramBuilder::StartCollective(std::string target, uint32_t buffer, int32_t group) {
  std::string label = target + " of buffer " + std::to_string(buffer);
  program::InstructionT& start = Add(Opcode::kCollectiveStart, std::move(target), std::move(label));
  Operand(start, buffer, Access::kReadWrite);
  start.group = group;
  return static_cast<int32_t>(program_.instructions.size() - 1);
}

void ProgramBuilder::Done(int32_t start_index) {
  Add(Opcode::kCollectiveDone, "", "end of " + std::to_string(start_index)).start_index = start_index;
}

int32_t ProgramBuilder::Group(std::vector<int> ranks) {
  auto group = std::make_unique<program::GroupT>();
  group->ranks = std::move(ranks);
  program_.groups.push_back(std::move(group));
  return static_cast<int32_t>(program_.groups.size() - 1);
}

program::ExecutableT MakeExecutable(std::vector<ProgramBuilder> programs, int ranks) {
  program::ExecutableT executable;
  executable.model = "tiny";
  executable.ranks = ranks;
  executable.threads = 1;
  for (ProgramBuilder& builder : programs) {
    executable.programs.push_back(std::make_unique<program::ProgramT>(std::move(builder.get())));
  }
  for (int rank = 0; rank < ranks; ++rank) {
    auto entry = std::make_unique<program::RankProgramsT>();
    entry->rank = rank;
    entry->programs.resize(executable.programs.size());
    std::iota(entry->programs.begin(), entry->programs.end(), 0);
    executable.rank_programs.push_back(std::move(entry));
  }
  return executable;
}

std::string MakePayload(const program::ExecutableT& executable, std::string_view kernels) {
  std::string section = program::WriteExecutable(executable);
  program::Sections sections{{program::kProgramSection, section}};
  if (!kernels.empty()) sections[program::kKernelsSection] = kernels;
  return program::WritePayload(sections);
}

ProgramBuilder LinearGradient(int ranks, program::Mode mode) {
  ProgramBuilder builder(mode);
  uint32_t w = builder.Buffer(BufferKind::kParameter, "w", {4, 2});
  uint32_t x = builder.Buffer(BufferKind::kInput, "x", {3, 4});
  uint32_t y = builder.Buffer(BufferKind::kActivation, "y", {3, 2});
  uint32_t g = builder.Buffer(BufferKind::kGradient, "g", {4, 2}, Segment::kShared);
  uint32_t out = builder.Buffer(BufferKind::kOutput, "w", {4, 2});
  program::InstructionT& forward = builder.Add(Opcode::kLibrary, "matmul", "x w");
  builder.Operand(forward, x, Access::kRead);
  builder.Operand(forward, w, Access::kRead);
  builder.Operand(forward, y, Access::kWrite);
  program::InstructionT& backward = builder.Add(Opcode::kLibrary, "matmul", "x^T y");
  program::OperandT& transposed = builder.Operand(backward, x, Access::kRead);
  std::swap(transposed.shape[0], transposed.shape[1]);
  std::swap(transposed.strides[0], transposed.strides[1]);
  builder.Operand(backward, y, Access::kRead);
  builder.Operand(backward, g, Access::kWrite);
  if (mode != program::Mode::kReferenceGradient) {
    std::vector<int> members(ranks);
    std::iota(members.begin(), members.end(), 0);
    builder.Done(builder.StartCollective("all_reduce", g, builder.Group(std::move(members))));
  }
  program::InstructionT& copy = builder.Add(Opcode::kCopy, "", "gradient of w");
  builder.Operand(copy, g, Access::kRead);
  builder.Operand(copy, out, Access::kWrite);
  return builder;
}

}  // namespace pdc::testing
