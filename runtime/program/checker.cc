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

// Which ranks run each program.
std::vector<std::set<int>> RunnersOf(const Executable& executable) {
  std::vector<std::set<int>> runners(Size(executable.programs()));
  for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
    const RankPrograms& entry = *executable.rank_programs()->Get(i);
    for (uint32_t p : Span(entry.programs())) runners[p].insert(entry.rank());
  }
  return runners;
}

absl::Status CheckRules(const Program& program, int ranks, const std::set<int>& runners) {
  absl::Status status = CheckBuffers(program);
  if (status.ok()) status = CheckInputs(program);
  if (status.ok()) status = CheckGroups(program, ranks);
  if (status.ok()) status = CheckViews(program);
  if (status.ok()) status = CheckOpcodes(program, ranks);
  if (status.ok()) status = CheckLiveness(program);
  if (status.ok()) status = CheckDataFlow(program, runners);
  if (status.ok()) status = CheckPending(program);
  return status;
}

}  // namespace

absl::Status CheckProgram(const Program& program, int ranks) { return CheckRules(program, ranks, {}); }

absl::Status CheckExecutable(const Executable& executable) {
  absl::Status status = CheckRankTable(executable);
  if (!status.ok()) return status;
  std::vector<std::set<int>> runners = RunnersOf(executable);
  for (uint32_t i = 0; i < Size(executable.programs()); ++i) {
    status = CheckRules(*executable.programs()->Get(i), executable.ranks(), runners[i]);
    if (!status.ok()) return status;
  }
  status = CheckKernels(executable);
  if (!status.ok()) return status;
  for (uint32_t i = 0; i < Size(executable.rank_programs()); ++i) {
    status = CheckPersistent(executable, *executable.rank_programs()->Get(i));
    if (!status.ok()) return status;
  }
  return CheckSchedule(executable);
}

}  // namespace pdc::program
