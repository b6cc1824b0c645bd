#include "tests/fuzz/mutations.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace pdc::fuzz {
namespace {

using program::BufferT;
using program::ExecutableT;
using program::InstructionT;
using program::OperandT;
using program::ProgramT;

class Mutator {
 public:
  Mutator(ExecutableT& executable, std::mt19937_64& random) : executable_(executable), random_(random) {}

  Mutation Run() {
    auto& entry = *executable_.rank_programs[Below(executable_.rank_programs.size())];
    uint32_t& index = entry.programs[Below(entry.programs.size())];
    if (Chance(0.7)) {  // Of this rank alone.
      executable_.programs.push_back(std::make_unique<ProgramT>(*executable_.programs[index]));
      index = static_cast<uint32_t>(executable_.programs.size() - 1);
    }
    program_ = executable_.programs[index].get();
    std::string where = "program " + std::to_string(index) + " of rank " + std::to_string(entry.rank) + ": ";
    using Change = std::string (Mutator::*)();
    static constexpr Change kChanges[] = {
        &Mutator::Drop,         &Mutator::Drop,           &Mutator::SwapAny,        &Mutator::SwapNeighbours,
        &Mutator::SwapNeighbours, &Mutator::Move,         &Mutator::Move,           &Mutator::Repeat,
        &Mutator::RetargetOperand, &Mutator::RetargetOperand, &Mutator::RetargetMessage, &Mutator::RetargetMessage,
        &Mutator::RetargetCollective, &Mutator::RetargetCall, &Mutator::RetargetDone, &Mutator::ResizeOperand,
        &Mutator::ResizeOperand, &Mutator::ResizeBuffer,  &Mutator::ChangeAttribute, &Mutator::ChangeAttribute,
        &Mutator::PlaceBuffer,  &Mutator::ChangeLife,     &Mutator::ChangeGroup,    &Mutator::ChangeArena,
    };
    for (int tries = 0; tries < 100; ++tries) {
      std::string what = (this->*kChanges[Below(std::size(kChanges))])();
      if (!what.empty()) return {where + what, program_->mode};
    }
    return {where + "nothing to change", program_->mode};
  }

 private:
  size_t Below(size_t count) { return count == 0 ? 0 : random_() % count; }
  bool Chance(double share) { return static_cast<double>(random_() >> 11) * 0x1p-53 < share; }

  std::vector<std::unique_ptr<InstructionT>>& instructions() { return program_->instructions; }
  InstructionT& Any() { return *instructions()[Below(instructions().size())]; }
  std::string Name(const InstructionT& instruction) const { return "'" + instruction.label + "'"; }

  // An instruction that `fits`, or null.
  InstructionT* Find(const std::function<bool(const InstructionT&)>& fits) {
    size_t count = instructions().size(), begin = Below(count);
    for (size_t i = 0; i < count; ++i) {
      InstructionT& instruction = *instructions()[(begin + i) % count];
      if (fits(instruction)) return &instruction;
    }
    return nullptr;
  }

  // A number near `value`, or one that is far from everything.
  int64_t Near(int64_t value) {
    static constexpr int64_t kFar[] = {0, -1, 1 << 20, int64_t{1} << 40, INT64_MIN, INT64_MAX};
    switch (Below(6)) {
      case 0:
        return kFar[Below(std::size(kFar))];
      case 1:
        return value * 2;
      case 2:
        return value / 2;
      case 3:
        return value - 1;
      default:
        return value + 1;
    }
  }

  // After the instructions were put into a new order: `moved(i)` is where instruction i stands now.
  void Renumber(const std::function<int32_t(int32_t)>& moved) {
    for (auto& instruction : instructions())
      if (instruction->start_index >= 0) instruction->start_index = moved(instruction->start_index);
    for (auto& buffer : program_->buffers) {
      if (buffer->first_use >= 0) buffer->first_use = moved(buffer->first_use);
      if (buffer->last_use >= 0) buffer->last_use = moved(buffer->last_use);
      if (buffer->first_use >= 0 && buffer->last_use >= 0 && buffer->first_use > buffer->last_use)
        std::swap(buffer->first_use, buffer->last_use);
    }
  }

  std::string Drop() {
    size_t at = Below(instructions().size());
    std::string name = Name(*instructions()[at]);
    bool whole = Chance(0.3);  // with what ends it
    bool follow = Chance(0.8);
    instructions().erase(instructions().begin() + static_cast<ptrdiff_t>(at));
    auto renumber = [this, follow](int32_t gone) {
      if (follow) Renumber([gone](int32_t i) { return i > gone || (i == gone && i > 0) ? i - 1 : i; });
    };
    if (whole) {
      auto done = std::find_if(instructions().begin(), instructions().end(), [&](const auto& instruction) {
        return instruction->start_index == static_cast<int32_t>(at);
      });
      if (done != instructions().end()) {
        auto second = static_cast<int32_t>(done - instructions().begin());
        instructions().erase(done);
        renumber(static_cast<int32_t>(at));
        renumber(second);
        return "drops " + std::to_string(at) + " " + name + " and its end";
      }
    }
    renumber(static_cast<int32_t>(at));
    return "drops " + std::to_string(at) + " " + name;
  }

  std::string Swap(size_t a, size_t b) {
    std::swap(instructions()[a], instructions()[b]);
    if (Chance(0.8)) {
      auto x = static_cast<int32_t>(a), y = static_cast<int32_t>(b);
      for (auto& instruction : instructions())
        instruction->start_index = instruction->start_index == x   ? y
                                   : instruction->start_index == y ? x
                                                                   : instruction->start_index;
    }
    return "swaps " + std::to_string(a) + " " + Name(*instructions()[b]) + " and " + std::to_string(b) + " " +
           Name(*instructions()[a]);
  }
  std::string SwapAny() { return Swap(Below(instructions().size()), Below(instructions().size())); }
  std::string SwapNeighbours() {
    size_t at = Below(instructions().size() - 1);
    return Swap(at, at + 1);
  }

  std::string Move() {
    size_t from = Below(instructions().size()), distance = 1 + Below(8);
    size_t to = Chance(0.5) ? std::min(from + distance, instructions().size() - 1) : from - std::min(from, distance);
    if (from == to) return "";
    auto moving = std::move(instructions()[from]);
    std::string name = Name(*moving);
    instructions().erase(instructions().begin() + static_cast<ptrdiff_t>(from));
    instructions().insert(instructions().begin() + static_cast<ptrdiff_t>(to), std::move(moving));
    Renumber([from, to](int32_t i) {
      auto at = static_cast<size_t>(i);
      if (at == from) return static_cast<int32_t>(to);
      if (from < to) return at > from && at <= to ? i - 1 : i;
      return at >= to && at < from ? i + 1 : i;
    });
    return "moves " + std::to_string(from) + " " + name + " to " + std::to_string(to);
  }

  std::string Repeat() {
    size_t from = Below(instructions().size()), to = Below(instructions().size() + 1);
    auto copy = std::make_unique<InstructionT>(*instructions()[from]);
    std::string name = Name(*copy);
    Renumber([to](int32_t i) { return static_cast<size_t>(i) >= to ? i + 1 : i; });
    instructions().insert(instructions().begin() + static_cast<ptrdiff_t>(to), std::move(copy));
    return "repeats " + std::to_string(from) + " " + name + " at " + std::to_string(to);
  }

  OperandT* AnyOperand(std::string& name) {
    InstructionT* instruction = Find([](const InstructionT& i) { return !i.operands.empty(); });
    if (instruction == nullptr) return nullptr;
    name = Name(*instruction);
    return instruction->operands[Below(instruction->operands.size())].get();
  }

  std::string RetargetOperand() {
    std::string name;
    OperandT* operand = AnyOperand(name);
    if (operand == nullptr) return "";
    switch (Below(8)) {
      case 0:
        operand->access = static_cast<program::Access>(Below(3));
        return "changes the access of an operand of " + name;
      case 1:
        operand->element_type = static_cast<program::ElementType>(Below(9));
        return "changes the type of an operand of " + name;
      case 2: {
        InstructionT& instruction = Any();
        if (instruction.operands.size() < 2) return "";
        std::swap(instruction.operands.front(), instruction.operands.back());
        return "swaps operands of " + Name(instruction);
      }
      case 3: {
        InstructionT& instruction = Any();
        instruction.workspace = static_cast<int32_t>(Below(program_->buffers.size() + 1)) - 1;
        return "retargets the workspace of " + Name(instruction);
      }
      default:
        break;
    }
    // Often one of the same size: it fits.
    uint64_t bytes = program_->buffers[operand->buffer]->bytes;
    for (int tries = 0; tries < 50; ++tries) {
      auto other = static_cast<uint32_t>(Below(program_->buffers.size()));
      if (other == operand->buffer || (tries < 40 && program_->buffers[other]->bytes != bytes)) continue;
      operand->buffer = other;
      return "retargets an operand of " + name + " to buffer " + std::to_string(other);
    }
    return "";
  }

  static bool IsMessage(const InstructionT& instruction) {
    return instruction.opcode == program::Opcode::kSend || instruction.opcode == program::Opcode::kReceive;
  }

  std::string RetargetMessage() {
    InstructionT* message = Find(IsMessage);
    if (message == nullptr) return "";
    switch (Below(4)) {
      case 0:
        message->peer = static_cast<int32_t>(Below(static_cast<size_t>(executable_.ranks) + 1));
        return "retargets " + Name(*message) + " to peer " + std::to_string(message->peer);
      case 1:
        message->tag = static_cast<int32_t>(Near(message->tag));
        return "retargets " + Name(*message) + " to tag " + std::to_string(message->tag);
      case 2:
        message->opcode = message->opcode == program::Opcode::kSend ? program::Opcode::kReceive : program::Opcode::kSend;
        return "turns " + Name(*message) + " round";
      default: {
        InstructionT* other = Find(IsMessage);
        std::swap(message->tag, other->tag);
        std::swap(message->peer, other->peer);
        return "swaps where " + Name(*message) + " and " + Name(*other) + " go";
      }
    }
  }

  std::string RetargetCollective() {
    InstructionT* start =
        Find([](const InstructionT& i) { return i.opcode == program::Opcode::kCollectiveStart; });
    if (start == nullptr) return "";
    static const char* const kTargets[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};
    switch (Below(5)) {
      case 0:
        start->group = static_cast<int32_t>(Below(program_->groups.size() + 1));
        return "retargets " + Name(*start) + " to group " + std::to_string(start->group);
      case 1:
        start->root = static_cast<int32_t>(Near(start->root));
        return "changes the root of " + Name(*start);
      case 2:
        start->reduce = static_cast<program::ReduceOp>(Below(2));
        return "changes the reduction of " + Name(*start);
      case 3:
        start->tag = static_cast<int32_t>(Near(start->tag));
        return "changes the tag of " + Name(*start);
      default:
        start->target = kTargets[Below(std::size(kTargets))];
        return "makes " + Name(*start) + " a " + start->target;
    }
  }

  std::string RetargetCall() {
    auto calls = [](const InstructionT& i) {
      return i.opcode == program::Opcode::kKernel || i.opcode == program::Opcode::kLibrary;
    };
    InstructionT* call = Find(calls);
    InstructionT* other = Find(calls);
    if (call == nullptr || call == other) return "";
    call->opcode = other->opcode;
    call->target = other->target;
    if (Chance(0.5)) call->parallel_extent = other->parallel_extent;
    return "retargets " + Name(*call) + " to " + other->target;
  }

  std::string RetargetDone() {
    InstructionT* done = Find([](const InstructionT& i) { return i.opcode == program::Opcode::kCollectiveDone; });
    InstructionT* other = Find([](const InstructionT& i) { return i.opcode == program::Opcode::kCollectiveDone; });
    if (done == nullptr) return "";
    if (Chance(0.5)) {
      std::swap(done->start_index, other->start_index);
      return "swaps what " + Name(*done) + " and " + Name(*other) + " end";
    }
    done->start_index = static_cast<int32_t>(Below(instructions().size()));
    return "retargets " + Name(*done) + " to the end of " + std::to_string(done->start_index);
  }

  std::string ResizeOperand() {
    std::string name;
    OperandT* operand = AnyOperand(name);
    if (operand == nullptr) return "";
    switch (operand->shape.empty() ? 2 : Below(4)) {
      case 0:
      case 1: {
        int64_t& size = operand->shape[Below(operand->shape.size())];
        size = Near(size);
        return "resizes an operand of " + name + " to " + std::to_string(size);
      }
      case 2:
        operand->offset_elements = Near(operand->offset_elements);
        return "moves an operand of " + name + " to " + std::to_string(operand->offset_elements);
      default: {
        int64_t& stride = operand->strides[Below(operand->strides.size())];
        stride = Near(stride);
        return "restrides an operand of " + name + " to " + std::to_string(stride);
      }
    }
  }

  BufferT& AnyBuffer() { return *program_->buffers[Below(program_->buffers.size())]; }

  std::string ResizeBuffer() {
    BufferT& buffer = AnyBuffer();
    if (buffer.shape.empty() || Chance(0.3)) {
      buffer.bytes = static_cast<uint64_t>(Near(static_cast<int64_t>(buffer.bytes)));
      return "resizes buffer '" + buffer.name + "' to " + std::to_string(buffer.bytes) + " bytes";
    }
    size_t d = Below(buffer.shape.size());
    int64_t size = 1 + static_cast<int64_t>(Below(static_cast<size_t>(std::max<int64_t>(1, 2 * buffer.shape[d]))));
    if (buffer.shape[d] > 0 && buffer.bytes < (uint64_t{1} << 30))
      buffer.bytes = buffer.bytes / static_cast<uint64_t>(buffer.shape[d]) * static_cast<uint64_t>(size);
    buffer.shape[d] = size;
    return "resizes buffer '" + buffer.name + "' to " + std::to_string(size) + " in dimension " + std::to_string(d);
  }

  std::string PlaceBuffer() {
    BufferT& buffer = AnyBuffer();
    if (Chance(0.2)) {
      buffer.segment = static_cast<program::Segment>(Below(2));
      return "changes the arena of buffer '" + buffer.name + "'";
    }
    buffer.offset = Chance(0.5) ? AnyBuffer().offset : static_cast<uint64_t>(Near(static_cast<int64_t>(buffer.offset)));
    return "moves buffer '" + buffer.name + "' to " + std::to_string(buffer.offset);
  }

  std::string ChangeLife() {
    BufferT& buffer = AnyBuffer();
    int32_t& life = Chance(0.5) ? buffer.first_use : buffer.last_use;
    life = static_cast<int32_t>(Below(instructions().size() + 1)) - 1;
    if (Chance(0.1)) buffer.kind = static_cast<program::BufferKind>(Below(10));
    return "changes the life of buffer '" + buffer.name + "'";
  }

  std::string ChangeAttribute() {
    InstructionT* instruction = Find([](const InstructionT& i) {
      return std::any_of(i.integers.begin(), i.integers.end(), [](const auto& a) { return !a->values.empty(); });
    });
    if (instruction == nullptr) return "";
    auto& attribute = *instruction->integers[Below(instruction->integers.size())];
    if (attribute.values.empty()) return "";
    if (Chance(0.2)) {
      attribute.values.pop_back();
      return "shortens " + attribute.name + " of " + Name(*instruction);
    }
    int64_t& value = attribute.values[Below(attribute.values.size())];
    value = Near(value);
    return "changes " + attribute.name + " of " + Name(*instruction) + " to " + std::to_string(value);
  }

  std::string ChangeGroup() {
    if (program_->groups.empty()) return "";
    auto& group = *program_->groups[Below(program_->groups.size())];
    if (group.ranks.empty() || Chance(0.5)) {
      std::shuffle(group.ranks.begin(), group.ranks.end(), random_);
      return "reorders a group";
    }
    if (Chance(0.5)) {
      group.ranks.pop_back();
      return "shrinks a group";
    }
    group.ranks[Below(group.ranks.size())] = static_cast<int32_t>(Below(static_cast<size_t>(executable_.ranks) + 1));
    return "changes a member of a group";
  }

  std::string ChangeArena() {
    uint64_t& bytes = Chance(0.5) ? program_->private_bytes : program_->shared_bytes;
    bytes = Chance(0.5) ? bytes - std::min<uint64_t>(bytes, 64) : bytes + 64;
    return "resizes an arena to " + std::to_string(bytes);
  }

  ExecutableT& executable_;
  std::mt19937_64& random_;
  ProgramT* program_ = nullptr;
};

}  // namespace

Mutation Mutate(ExecutableT& executable, std::mt19937_64& random) { return Mutator(executable, random).Run(); }

}  // namespace pdc::fuzz
