#include "runtime/program/checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

// One collective as all members of its group must see it.
struct Started {
  std::string what;  // "all_reduce f32 x 1024, counts [], sum, root 0"
  uint32_t program, instruction;
};

std::string Describe(const Instruction& instruction) {
  const Operand& operand = *instruction.operands()->Get(0);
  std::string_view target = Text(instruction.target()), type = ElementName(operand.element_type());
  return absl::StrCat(std::string(target), " ", ElementCount(Span(operand.shape())), " x ", std::string(type),
                      ", counts [", absl::StrJoin(FindIntegers(instruction, "counts"), ","), "], ",
                      instruction.reduce() == ReduceOp::kSum ? "sum" : "max", ", root ", instruction.root(),
                      ", tag ", instruction.tag());
}

absl::Status CheckRankTable(const Executable& executable) {
  if (executable.ranks() < 1 || executable.threads() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("the executable is for ", executable.ranks(), " ranks of ",
                                                   executable.threads(), " threads"));
  }
  std::set<int> seen;
  for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
    const RankPrograms& entry = *executable.rank_programs()->Get(i);
    if (entry.rank() < 0 || entry.rank() >= executable.ranks() || !seen.insert(entry.rank()).second) {
      return absl::InvalidArgumentError(absl::StrCat("programs are listed for rank ", entry.rank(),
                                                     ", which is not one of 0 to ", executable.ranks() - 1,
                                                     " or stands twice"));
    }
    std::set<Mode> modes;
    for (uint32_t program : Span(entry.programs())) {
      if (program >= Size(executable.programs())) {
        return absl::InvalidArgumentError(absl::StrCat("rank ", entry.rank(), " runs program ", program,
                                                       " of ", Size(executable.programs())));
      }
      if (!modes.insert(executable.programs()->Get(program)->mode()).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("rank ", entry.rank(), " has two programs of one mode"));
      }
    }
  }
  if (static_cast<int>(seen.size()) == executable.ranks()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("programs are listed for ", seen.size(), " of ", executable.ranks(), " ranks"));
}

// A persistent buffer by name, and where it must lie in every mode.
using PersistentKey = std::tuple<BufferKind, std::string, std::string>;
using PersistentPlace = std::tuple<Segment, uint64_t, uint64_t, ElementType, std::vector<int64_t>>;

absl::Status CheckPersistent(const Executable& executable, const RankPrograms& entry) {
  std::map<PersistentKey, PersistentPlace> places;
  uint64_t prefix[2] = {0, 0};
  auto for_each = [&](bool persistent, auto&& visit) -> absl::Status {
    for (uint32_t p : Span(entry.programs())) {
      const Program& program = *executable.programs()->Get(p);
      if (program.mode() == Mode::kReferenceGradient) continue;
      for (uint32_t i = 0; i < Size(program.buffers()); ++i) {
        const Buffer& buffer = *program.buffers()->Get(i);
        if (IsPersistent(buffer.kind()) != persistent) continue;
        absl::Status status = visit(program, i, buffer);
        if (!status.ok()) return status;
      }
    }
    return absl::OkStatus();
  };
  absl::Status status = for_each(true, [&](const Program& program, uint32_t i, const Buffer& buffer) {
    prefix[static_cast<int>(buffer.segment())] =
        std::max(prefix[static_cast<int>(buffer.segment())], buffer.offset() + buffer.bytes());
    PersistentKey key(buffer.kind(), std::string(Text(buffer.name())),
                      std::string(Text(buffer.optimizer_slot())));
    PersistentPlace place(buffer.segment(), buffer.offset(), buffer.bytes(), buffer.element_type(),
                          std::vector<int64_t>(Span(buffer.shape()).begin(), Span(buffer.shape()).end()));
    auto [found, inserted] = places.emplace(key, place);
    if (inserted || found->second == place) return absl::OkStatus();
    return BufferError(program, i,
                       absl::StrCat("differs in place, size, type or shape from another program of rank ",
                                    entry.rank(), "; what persists must lie at one place in all of them"));
  });
  if (!status.ok()) return status;
  return for_each(false, [&](const Program& program, uint32_t i, const Buffer& buffer) {
    if (buffer.bytes() == 0 || buffer.offset() >= prefix[static_cast<int>(buffer.segment())])
      return absl::OkStatus();
    return BufferError(
        program, i,
        absl::StrCat("lies at ", buffer.offset(), ", below the end of what persists over steps, ",
                     prefix[static_cast<int>(buffer.segment())]));
  });
}

using Sequences = std::map<std::pair<Mode, std::vector<int>>, std::map<int, std::vector<Started>>>;

// Appends what `rank` starts in program `p` to its groups' sequences.
absl::Status CollectStarts(const Executable& executable, int rank, uint32_t p, Sequences& sequences) {
  const Program& program = *executable.programs()->Get(p);
  for (uint32_t i = 0; i < Size(program.instructions()); ++i) {
    const Instruction& instruction = *program.instructions()->Get(i);
    if (instruction.opcode() == Opcode::kSend || instruction.opcode() == Opcode::kReceive) {
      if (instruction.peer() == rank)
        return InstructionError(program, i, absl::StrCat("rank ", rank, " is its own peer"));
    }
    if (instruction.opcode() != Opcode::kCollectiveStart) continue;
    absl::Span<const int> ranks = Span(program.groups()->Get(instruction.group())->ranks());
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) {
      return InstructionError(program, i,
                              absl::StrCat("rank ", rank, " runs it and is no member of group ",
                                           instruction.group(), ", [", absl::StrJoin(ranks, ","), "]"));
    }
    std::vector<int> key(ranks.begin(), ranks.end());
    sequences[{program.mode(), key}][rank].push_back({Describe(instruction), p, i});
  }
  return absl::OkStatus();
}

absl::Status CompareMembers(const Executable& executable, Mode mode, const std::vector<int>& group,
                            const std::map<int, std::vector<Started>>& by_rank) {
  const auto& [first_rank, first] = *by_rank.begin();
  for (int rank : group) {
    auto found = by_rank.find(rank);
    static const std::vector<Started> kNone;
    const std::vector<Started>& other = found == by_rank.end() ? kNone : found->second;
    for (size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      std::string a = i < first.size() ? first[i].what : "nothing";
      std::string b = i < other.size() ? other[i].what : "nothing";
      if (a == b) continue;
      const Started& at = i < first.size() ? first[i] : other[i];
      return InstructionError(
          *executable.programs()->Get(at.program), at.instruction,
          absl::StrCat("collective ", i, " of group [", absl::StrJoin(group, ","), "]: rank ", first_rank,
                       " starts ", a, ", rank ", rank, " starts ", b));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckJob(const Executable& executable) {
  Sequences sequences;
  for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
    const RankPrograms& entry = *executable.rank_programs()->Get(i);
    for (uint32_t p : Span(entry.programs())) {
      absl::Status status = CollectStarts(executable, entry.rank(), p, sequences);
      if (!status.ok()) return status;
    }
  }
  for (const auto& [key, by_rank] : sequences) {
    absl::Status status = CompareMembers(executable, key.first, key.second, by_rank);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckProgram(const Program& program, int ranks) {
  absl::Status status = CheckBuffers(program);
  if (status.ok()) status = CheckGroups(program, ranks);
  if (status.ok()) status = CheckViews(program);
  if (status.ok()) status = CheckOpcodes(program, ranks);
  if (status.ok()) status = CheckLiveness(program);
  if (status.ok()) status = CheckDataFlow(program);
  if (status.ok()) status = CheckPending(program);
  return status;
}

absl::Status CheckExecutable(const Executable& executable) {
  absl::Status status = CheckRankTable(executable);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < Size(executable.programs()); ++i) {
    status = CheckProgram(*executable.programs()->Get(i), executable.ranks());
    if (!status.ok()) return status;
  }
  for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
    status = CheckPersistent(executable, *executable.rank_programs()->Get(i));
    if (!status.ok()) return status;
  }
  status = CheckJob(executable);
  if (!status.ok()) return status;
  return CheckSchedule(executable);
}

}  // namespace pdc::program
