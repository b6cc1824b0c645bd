#include "runtime/program/communication.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

class Collector {
 public:
  explicit Collector(Communication& job) : job_(job) {}

  std::shared_ptr<const std::vector<CommunicationEvent>> EventsOf(const Program& program) {
    auto [known, is_new] = events_.try_emplace(&program);
    if (is_new) known->second = Collect(program);
    return known->second;
  }

 private:
  std::shared_ptr<const std::vector<CommunicationEvent>> Collect(const Program& program) {
    std::vector<int32_t> groups;
    for (uint32_t g = 0; g < Size(program.groups()); ++g)
      groups.push_back(Number(Span(program.groups()->Get(g)->ranks())));
    auto events = std::make_shared<std::vector<CommunicationEvent>>();
    std::map<uint32_t, uint32_t> starts;  // instruction -> event
    for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
      const Instruction& instruction = *program.instructions()->Get(i);
      CommunicationEvent event{instruction.opcode(), i, -1, 0};
      switch (instruction.opcode()) {
        case Opcode::kCollectiveStart:
          event.group = groups[instruction.group()];
          break;
        case Opcode::kSend:
        case Opcode::kReceive:
          break;
        case Opcode::kCollectiveDone:
          event.start = starts.at(static_cast<uint32_t>(instruction.start_index()));
          break;
        default:
          continue;
      }
      if (event.opcode != Opcode::kCollectiveDone) starts[i] = static_cast<uint32_t>(events->size());
      events->push_back(event);
    }
    return events;
  }

  int32_t Number(absl::Span<const int> ranks) {
    auto [found, is_new] = groups_.try_emplace(std::vector<int>(ranks.begin(), ranks.end()),
                                               static_cast<int32_t>(job_.groups.size()));
    if (is_new) {
      CommunicationGroup group{found->first, {}};
      for (uint32_t i = 0; i < group.ranks.size(); ++i) group.index_of[group.ranks[i]] = i;
      job_.groups.push_back(std::move(group));
    }
    return found->second;
  }

  Communication& job_;
  std::map<const Program*, std::shared_ptr<const std::vector<CommunicationEvent>>> events_;
  std::map<std::vector<int>, int32_t> groups_;
};

}  // namespace

Communication CommunicationOf(const Executable& executable, Mode mode) {
  Communication job;
  job.ranks.resize(static_cast<size_t>(executable.ranks()));
  Collector collector(job);
  for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
    const RankPrograms& entry = *executable.rank_programs()->Get(i);
    for (uint32_t p : Span(entry.programs())) {
      const Program& program = *executable.programs()->Get(p);
      if (program.mode() == mode) job.ranks[entry.rank()] = {&program, collector.EventsOf(program)};
    }
  }
  return job;
}

std::string DescribeCollective(const Instruction& instruction) {
  const Operand& operand = *instruction.operands()->Get(0);
  std::string_view target = Text(instruction.target()), type = ElementName(operand.element_type());
  return absl::StrCat(std::string(target), " ", ElementCount(Span(operand.shape())), " x ", std::string(type),
                      ", counts [", absl::StrJoin(FindIntegers(instruction, "counts"), ","), "], ",
                      instruction.reduce() == ReduceOp::kSum ? "sum" : "max", ", root ", instruction.root(),
                      ", tag ", instruction.tag());
}

bool SameCollective(const Instruction& a, const Instruction& b) {
  if (&a == &b) return true;
  const Operand &x = *a.operands()->Get(0), &y = *b.operands()->Get(0);
  return Text(a.target()) == Text(b.target()) && a.reduce() == b.reduce() && a.root() == b.root() &&
         a.tag() == b.tag() && x.element_type() == y.element_type() &&
         ElementCount(Span(x.shape())) == ElementCount(Span(y.shape())) &&
         FindIntegers(a, "counts") == FindIntegers(b, "counts");
}

}  // namespace pdc::program
