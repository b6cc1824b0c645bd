#include "runtime/program/wait_cycle.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/view.h"

namespace pdc::program {
namespace {

// One side of an operation: group, or sender, receiver, tag and which of them; and its number there.
using Stream = std::tuple<int32_t, int, int, int, bool>;
using Side = std::pair<Stream, size_t>;

Stream StreamOf(const Awaited& awaited, bool is_send) {
  return {awaited.group, awaited.from, awaited.to, awaited.tag, awaited.group < 0 && is_send};
}

// The side that others have to start before `awaited` is over.
Side OtherSide(const Awaited& awaited) { return {StreamOf(awaited, !awaited.is_send), awaited.number}; }

class Explanation {
 public:
  Explanation(const Communication& job, const std::vector<Waiting>& waits)
      : job_(job), waits_(waits), wait_of_(job.ranks.size(), -1) {
    for (size_t w = 0; w < waits.size(); ++w) {
      wait_of_[waits[w].rank] = static_cast<int>(w);
      for (int rank : waits[w].missing) needed_[rank][OtherSide(waits[w].awaited)] = -1;
    }
    for (const auto& [rank, sides] : needed_) FindStarts(rank);
  }

  absl::Status Status() const {
    for (const Waiting& wait : waits_)
      for (int rank : wait.missing)
        if (StartIn(rank, wait) < 0) return Never(wait, rank);
    return Cycle(ShortestCycle());
  }

 private:
  // Where `rank` will start what is needed of it, in one pass over its whole program.
  void FindStarts(int rank) {
    std::map<Side, int64_t>& needed = needed_[rank];
    if (job_.ranks[rank].program == nullptr) return;
    std::map<Stream, size_t> started;
    for (const CommunicationEvent& event : *job_.ranks[rank].events) {
      if (event.opcode == Opcode::kCollectiveDone) continue;
      Awaited awaited{.group = event.group};
      if (event.opcode != Opcode::kCollectiveStart) {
        const Instruction& message = *job_.ranks[rank].program->instructions()->Get(event.instruction);
        awaited.is_send = event.opcode == Opcode::kSend;
        awaited.from = awaited.is_send ? rank : message.peer();
        awaited.to = awaited.is_send ? message.peer() : rank;
        awaited.tag = message.tag();
      }
      Stream stream = StreamOf(awaited, awaited.is_send);
      auto found = needed.find({stream, started[stream]++});
      if (found != needed.end()) found->second = event.instruction;
    }
  }

  int64_t StartIn(int rank, const Waiting& wait) const {
    return needed_.at(rank).at(OtherSide(wait.awaited));
  }

  // Breadth first from each waiting rank; as indices into waits_.
  std::vector<int> ShortestCycle() const {
    std::vector<int> shortest;
    for (int begin = 0; begin < static_cast<int>(waits_.size()) && shortest.size() != 2; ++begin) {
      std::vector<int> cycle = CycleThrough(begin, shortest.empty() ? waits_.size() : shortest.size() - 1);
      if (!cycle.empty()) shortest = cycle;
    }
    return shortest;
  }

  // The shortest cycle through a wait, if it has at most `most` ranks.
  std::vector<int> CycleThrough(int begin, size_t most) const {
    std::vector<int> before(waits_.size(), -1), level{begin};
    for (size_t length = 1; !level.empty() && length <= most; ++length) {
      std::vector<int> later;
      for (int w : level) {
        for (int rank : waits_[w].missing) {
          int on = wait_of_[rank];
          if (on == begin) return PathTo(w, begin, before);
          if (on < 0 || before[on] >= 0) continue;
          before[on] = w;
          later.push_back(on);
        }
      }
      level = std::move(later);
    }
    return {};
  }

  static std::vector<int> PathTo(int end, int begin, const std::vector<int>& before) {
    std::vector<int> path{end};
    while (path.back() != begin) path.push_back(before[path.back()]);
    std::reverse(path.begin(), path.end());
    return path;
  }

  std::string What(const Awaited& awaited) const {
    if (awaited.group >= 0) {
      return absl::StrCat("collective ", awaited.number, " of group [",
                          absl::StrJoin(job_.groups[awaited.group].ranks, ","), "]");
    }
    return absl::StrCat("message ", awaited.number, " from rank ", awaited.from, " to rank ", awaited.to, ", tag ",
                        awaited.tag);
  }

  std::string At(int rank, uint32_t instruction) const {
    std::string_view label = Text(job_.ranks[rank].program->instructions()->Get(instruction)->label());
    return absl::StrCat("instruction ", instruction, " (", std::string(label), ")");
  }

  uint32_t InstructionOf(const Waiting& wait) const {
    return (*job_.ranks[wait.rank].events)[wait.event].instruction;
  }

  absl::Status Never(const Waiting& wait, int rank) const {
    std::string starts = wait.awaited.group >= 0 ? "starts" : wait.awaited.is_send ? "receives" : "sends";
    return InstructionError(*job_.ranks[wait.rank].program, InstructionOf(wait),
                            absl::StrCat("rank ", wait.rank, " waits here for ever for ", What(wait.awaited),
                                         ", which rank ", rank, " never ", starts));
  }

  absl::Status Cycle(const std::vector<int>& cycle) const {
    std::vector<std::string> lines;
    for (size_t i = 0; i < cycle.size(); ++i) {
      const Waiting& wait = waits_[cycle[i]];
      int other = waits_[cycle[(i + 1) % cycle.size()]].rank;
      lines.push_back(absl::StrCat("rank ", wait.rank, " waits at ", At(wait.rank, InstructionOf(wait)), " for ",
                                   What(wait.awaited), ", which rank ", other, " starts at ",
                                   At(other, static_cast<uint32_t>(StartIn(other, wait)))));
    }
    const Waiting& first = waits_[cycle.front()];
    return InstructionError(
        *job_.ranks[first.rank].program, InstructionOf(first),
        absl::StrCat(cycle.size(), " ranks wait for each other for ever: ", absl::StrJoin(lines, "; ")));
  }

  const Communication& job_;
  const std::vector<Waiting>& waits_;
  std::vector<int> wait_of_;  // of each rank, its place in waits_; -1: it has finished
  std::map<int, std::map<Side, int64_t>> needed_;  // of each rank, the instruction that starts it; -1: none
};

}  // namespace

absl::Status ExplainWaits(const Communication& job, const std::vector<Waiting>& waits) {
  return Explanation(job, waits).Status();
}

}  // namespace pdc::program
