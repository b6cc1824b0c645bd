// That no rank waits for ever: the programs of all ranks are run against each other, with nothing but what they wait
// for. A collective is over when all members have started it, a message when both sides have; whatever the real order,
// a job that gets through here gets through there, since nothing that a rank starts depends on when others come.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

// Messages of one sender, receiver and tag, in order.
using Channel = std::tuple<int, int, int>;

struct Messages {
  std::vector<uint64_t> sent, received;  // bytes
};

uint64_t BytesOf(const Instruction& instruction) {
  const Operand& memory = *instruction.operands()->Get(0);
  return static_cast<uint64_t>(ElementCount(Span(memory.shape())) * ElementBytes(memory.element_type()));
}

// What an instruction started: the n-th of its group or channel.
struct Started {
  std::vector<int> group;  // of a collective; empty for a message
  Channel channel;
  bool send = false;
  size_t number = 0;
};

class Job {
 public:
  Job(const Executable& executable, Mode mode) {
    for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
      const RankPrograms& entry = *executable.rank_programs()->Get(i);
      for (uint32_t p : Span(entry.programs())) {
        const Program& program = *executable.programs()->Get(p);
        if (program.mode() == mode) ranks_[entry.rank()] = {&program, 0, {}};
      }
    }
  }

  absl::Status Check() {
    bool progress = true;
    while (progress) {
      progress = false;
      for (auto& [rank, state] : ranks_) progress |= Advance(rank, state);
    }
    for (const auto& [rank, state] : ranks_) {
      if (state.next == Size(state.program->instructions())) continue;
      return InstructionError(*state.program, state.next,
                              absl::StrCat("rank ", rank, " waits here for ever: ", Missing(rank, state)));
    }
    for (const auto& [channel, messages] : messages_) {
      absl::Status status = Compare(channel, messages);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

 private:
  struct Rank {
    const Program* program = nullptr;
    uint32_t next = 0;
    std::map<uint32_t, Started> started;  // by instruction
  };

  // Runs until something must be waited for. Whether anything ran.
  bool Advance(int rank, Rank& state) {
    uint32_t begin = state.next, end = Size(state.program->instructions());
    for (; state.next < end; ++state.next) {
      const Instruction& instruction = *state.program->instructions()->Get(state.next);
      switch (instruction.opcode()) {
        case Opcode::kCollectiveStart: {
          absl::Span<const int> ranks = Span(state.program->groups()->Get(instruction.group())->ranks());
          std::vector<int> group(ranks.begin(), ranks.end());
          size_t number = collectives_[group][rank]++;
          state.started[state.next] = {group, {}, false, number};
          break;
        }
        case Opcode::kSend:
        case Opcode::kReceive: {
          bool send = instruction.opcode() == Opcode::kSend;
          Channel channel = send ? Channel(rank, instruction.peer(), instruction.tag())
                                 : Channel(instruction.peer(), rank, instruction.tag());
          std::vector<uint64_t>& side = send ? messages_[channel].sent : messages_[channel].received;
          state.started[state.next] = {{}, channel, send, side.size()};
          side.push_back(BytesOf(instruction));
          break;
        }
        case Opcode::kCollectiveDone:
          if (!IsOver(state.started[static_cast<uint32_t>(instruction.start_index())]))
            return state.next > begin;
          break;
        default:
          break;
      }
    }
    return state.next > begin;
  }

  bool IsOver(const Started& started) {
    if (!started.group.empty()) {
      for (int member : started.group)
        if (collectives_[started.group][member] <= started.number) return false;
      return true;
    }
    const Messages& messages = messages_[started.channel];
    return (started.send ? messages.received : messages.sent).size() > started.number;
  }

  std::string Missing(int rank, const Rank& state) {
    const Instruction& done = *state.program->instructions()->Get(state.next);
    const Started& started = state.started.at(static_cast<uint32_t>(done.start_index()));
    if (started.group.empty()) {
      auto [from, to, tag] = started.channel;
      return started.send ? absl::StrCat("rank ", to, " never receives this message of tag ", tag)
                          : absl::StrCat("rank ", from, " never sends this message of tag ", tag);
    }
    for (int member : started.group)
      if (collectives_[started.group][member] <= started.number)
        return absl::StrCat("rank ", member, " never starts collective ", started.number, " of their group");
    return "of nothing";
  }

  absl::Status Compare(const Channel& channel, const Messages& messages) {
    auto [from, to, tag] = channel;
    for (size_t i = 0; i < std::max(messages.sent.size(), messages.received.size()); ++i) {
      bool both = i < messages.sent.size() && i < messages.received.size();
      if (both && messages.sent[i] == messages.received[i]) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "message ", i, " from rank ", from, " to rank ", to, ", tag ", tag, ": ",
          i < messages.sent.size() ? absl::StrCat(messages.sent[i], " bytes are sent") : "nothing is sent",
          ", ",
          i < messages.received.size() ? absl::StrCat(messages.received[i], " bytes are received")
                                       : "nothing is received"));
    }
    return absl::OkStatus();
  }

  std::map<int, Rank> ranks_;
  std::map<std::vector<int>, std::map<int, size_t>> collectives_;  // how many each member has started
  std::map<Channel, Messages> messages_;
};

}  // namespace

absl::Status CheckSchedule(const Executable& executable) {
  for (Mode mode : EnumValuesMode()) {
    absl::Status status = Job(executable, mode).Check();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace pdc::program
