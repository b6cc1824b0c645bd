#include "runtime/exec/instruction_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/exec/memory.h"
#include "runtime/program/view.h"

namespace pdc::exec {

using program::Instruction;
using program::Opcode;

namespace {

std::byte* OperandAddress(const program::Program& program, const Instruction& instruction, uint32_t index,
                          const device::Arenas& arenas) {
  const program::Operand& operand = *instruction.operands()->Get(index);
  return Address(arenas, *program.buffers()->Get(operand.buffer())) +
         operand.offset_elements() * program::ElementBytes(operand.element_type());
}

}  // namespace

absl::StatusOr<std::unique_ptr<InstructionList>> InstructionList::Prepare(const program::Program& program,
                                                                          device::Device& device,
                                                                          comm::Communicator& communicator,
                                                                          const Groups& groups,
                                                                          const device::Arenas& arenas) {
  std::unique_ptr<InstructionList> list(new InstructionList(program, communicator));
  uint32_t count = program::Size(program.instructions());
  list->entries_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    absl::StatusOr<Entry> entry = list->PrepareEntry(i, device, groups, arenas);
    if (!entry.ok()) return list->At(entry.status(), -1, static_cast<int32_t>(i));
    list->entries_.push_back(*std::move(entry));
  }
  list->FindInputs(arenas);
  return list;
}

void InstructionList::FindInputs(const device::Arenas& arenas) {
  for (uint32_t i = 0; i < program::Size(program_.buffers()); ++i) {
    const program::Buffer& buffer = *program_.buffers()->Get(i);
    if (buffer.kind() != program::BufferKind::kInput) continue;
    inputs_.push_back({buffer.first_use(), inputs_.size(), Address(arenas, buffer)});
  }
  std::sort(inputs_.begin(), inputs_.end(), [](const Input& a, const Input& b) {
    return std::pair(a.first_use, a.number) < std::pair(b.first_use, b.number);
  });
}

absl::StatusOr<InstructionList::Entry> InstructionList::PrepareEntry(uint32_t index, device::Device& device,
                                                                     const Groups& groups,
                                                                     const device::Arenas& arenas) {
  const Instruction& instruction = *program_.instructions()->Get(index);
  Entry entry;
  entry.opcode = instruction.opcode();
  switch (entry.opcode) {
    case Opcode::kKernel:
    case Opcode::kLibrary:
    case Opcode::kFill:
    case Opcode::kCopy: {
      PDC_ASSIGN_OR_RETURN(entry.prepared, device.Prepare(program_, instruction, arenas));
      return entry;
    }
    case Opcode::kCollectiveDone:
      entry.slot = entries_[instruction.start_index()].slot;
      return entry;
    case Opcode::kCollectiveStart:
    case Opcode::kSend:
    case Opcode::kReceive:
      break;
  }
  const program::Operand& operand = *instruction.operands()->Get(0);
  entry.slot = static_cast<int32_t>(pending_.size());
  pending_.emplace_back();
  entry.data = OperandAddress(program_, instruction, 0, arenas);
  entry.type = operand.element_type();
  entry.count = program::ElementCount(program::Span(operand.shape()));
  if (entry.opcode == Opcode::kCollectiveStart) {
    PrepareCollective(instruction, groups, entry);
    if (entry.collective == Entry::Collective::kAllToAll) {
      entry.receive = OperandAddress(program_, instruction, 1, arenas);
      entry.count /= static_cast<int64_t>(entry.group->ranks().size());
    }
  } else {
    entry.count *= program::ElementBytes(entry.type);
    entry.peer = instruction.peer();
    entry.tag = instruction.tag();
  }
  return entry;
}

void InstructionList::PrepareCollective(const Instruction& instruction, const Groups& groups, Entry& entry) {
  static const std::map<std::string, Entry::Collective, std::less<>> kCollectives = {
      {"all_reduce", Entry::Collective::kAllReduce},         {"all_gather", Entry::Collective::kAllGather},
      {"reduce_scatter", Entry::Collective::kReduceScatter}, {"all_to_all", Entry::Collective::kAllToAll},
      {"broadcast", Entry::Collective::kBroadcast},
  };
  // The checker has made sure that target and group are known.
  entry.collective = kCollectives.find(program::Text(instruction.target()))->second;
  absl::Span<const int> ranks = program::Span(program_.groups()->Get(instruction.group())->ranks());
  entry.group = groups.at(std::vector<int>(ranks.begin(), ranks.end())).get();
  absl::Span<const int64_t> counts = program::FindIntegers(instruction, "counts");
  entry.counts.assign(counts.begin(), counts.end());
  entry.reduce = instruction.reduce();
  entry.root = instruction.root();
}

absl::Status InstructionList::WriteInput(const Input& input, const InputWriter& write) const {
  if (write) return write(input.number, input.data);
  if (input.first_use < 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("input ", input.number, " of the program is written while it runs, before "
                                                    "instruction ", input.first_use, ": Run() needs an InputWriter"));
}

absl::Status InstructionList::Run(int64_t step, std::chrono::nanoseconds timeout, const InputWriter& write,
                                  const std::function<void(const InstructionEvent&)>& trace) {
  int32_t count = static_cast<int32_t>(entries_.size());
  auto input = inputs_.begin();
  for (int32_t i = 0; i < count; ++i) {
    communicator_.SetPosition({step, i});
    for (; input != inputs_.end() && input->first_use <= i; ++input) PDC_RETURN_IF_ERROR(WriteInput(*input, write));
    InstructionEvent event{step, i, {}, {}};
    if (trace) event.begin = comm::Clock::now();
    absl::Status status = RunEntry(entries_[i], timeout);
    if (!status.ok()) return At(status, step, i);
    if (!trace) continue;
    event.end = comm::Clock::now();
    trace(event);
  }
  return absl::OkStatus();
}

absl::Status InstructionList::RunEntry(const Entry& entry, std::chrono::nanoseconds timeout) {
  switch (entry.opcode) {
    case Opcode::kKernel:
    case Opcode::kLibrary:
    case Opcode::kFill:
    case Opcode::kCopy:
      return entry.prepared->Run();
    case Opcode::kCollectiveStart: {
      PDC_ASSIGN_OR_RETURN(pending_[entry.slot], StartCollective(entry));
      return absl::OkStatus();
    }
    case Opcode::kSend: {
      PDC_ASSIGN_OR_RETURN(
          pending_[entry.slot],
          communicator_.Send(entry.data, static_cast<size_t>(entry.count), entry.peer, entry.tag));
      return absl::OkStatus();
    }
    case Opcode::kReceive: {
      PDC_ASSIGN_OR_RETURN(
          pending_[entry.slot],
          communicator_.Receive(entry.data, static_cast<size_t>(entry.count), entry.peer, entry.tag));
      return absl::OkStatus();
    }
    case Opcode::kCollectiveDone: {
      PDC_RETURN_IF_ERROR(pending_[entry.slot]->Wait(comm::Clock::now() + timeout));
      pending_[entry.slot].reset();
      return absl::OkStatus();
    }
  }
  return absl::InternalError("unknown opcode");
}

absl::StatusOr<std::unique_ptr<comm::Pending>> InstructionList::StartCollective(const Entry& entry) {
  switch (entry.collective) {
    case Entry::Collective::kAllReduce:
      return communicator_.AllReduce(*entry.group, entry.data, entry.count, entry.type, entry.reduce);
    case Entry::Collective::kAllGather:
      return communicator_.AllGather(*entry.group, entry.data, entry.counts, entry.type);
    case Entry::Collective::kReduceScatter:
      return communicator_.ReduceScatter(*entry.group, entry.data, entry.counts, entry.type, entry.reduce);
    case Entry::Collective::kAllToAll:
      return communicator_.AllToAll(*entry.group, entry.data, entry.receive, entry.count, entry.type);
    case Entry::Collective::kBroadcast:
      return communicator_.Broadcast(*entry.group, entry.data, entry.count, entry.type, entry.root);
    case Entry::Collective::kNone:
      break;
  }
  return absl::InternalError("unknown collective");
}

absl::Status InstructionList::At(const absl::Status& status, int64_t step, int32_t index) const {
  return AtPlace(status, {.rank = communicator_.rank(),
                          .step = step,
                          .instruction = index,
                          .label = std::string(program::Text(program_.instructions()->Get(index)->label()))});
}

}  // namespace pdc::exec
