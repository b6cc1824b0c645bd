// That ranks agree on what they say to each other, and that none waits for ever.
//
// What waits: only kCollectiveDone. A start never does: the communicators take any number of operations, in any order of
// groups, peers and tags, and move each of them on beside the program (runtime/comm/async_communicator.h). A collective
// is over when all members have started it and what they started on the group before is over; a message when both
// sides have started it and the messages of their channel before it are over. So a send is never over before its receive
// is started, which is rendezvous; a communicator that buffers a message lets the sender go on earlier, and nobody later.
//
// Why one run suffices: which operation an instruction starts depends on the program alone, never on time, and what has
// been started stays started. Hence the instructions that can be reached are the same whatever the order in which ranks
// are let on. If all ranks come through here, they do under every timing and any buffering; and where they stop here,
// they stop under rendezvous.
#include <deque>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/program/check_rules.h"
#include "runtime/program/communication.h"
#include "runtime/program/view.h"
#include "runtime/program/wait_cycle.h"

namespace pdc::program {
namespace {

// Messages of one sender, receiver and tag, in order.
using Channel = std::tuple<int, int, int>;

struct Site {
  int rank;
  uint32_t instruction;
};

struct Messages {
  std::vector<Site> sends, receives;
};

struct Collectives {
  std::vector<size_t> started;  // by each member
  std::vector<Site> first;      // who started the n-th first
  std::vector<int> arrived;     // how many have started the n-th
};

class Job {
 public:
  explicit Job(const Communication& job)
      : job_(job), next_(job.ranks.size()), pending_(job.ranks.size()), is_queued_(job.ranks.size(), true) {
    for (const CommunicationGroup& group : job.groups)
      collectives_.push_back({std::vector<size_t>(group.ranks.size()), {}, {}});
    for (size_t rank = 0; rank < job.ranks.size(); ++rank) queue_.push_back(static_cast<int>(rank));
  }

  absl::Status Check() {
    while (!queue_.empty()) {
      int rank = queue_.front();
      queue_.pop_front();
      is_queued_[rank] = false;
      absl::Status status = Advance(rank);
      if (!status.ok()) return status;
    }
    return CheckFinished();
  }

 private:
  const Instruction& At(const Site& site) const {
    return *job_.ranks[site.rank].program->instructions()->Get(site.instruction);
  }

  void Wake(int rank) {
    if (is_queued_[rank]) return;
    is_queued_[rank] = true;
    queue_.push_back(rank);
  }

  // Runs until something must be waited for.
  absl::Status Advance(int rank) {
    const RankCommunication& runs = job_.ranks[rank];
    if (runs.program == nullptr) return absl::OkStatus();
    for (uint32_t& next = next_[rank]; next < runs.events->size(); ++next) {
      const CommunicationEvent& event = (*runs.events)[next];
      if (event.opcode == Opcode::kCollectiveDone) {
        auto started = pending_[rank].find(event.start);
        if (!IsOver(started->second)) return absl::OkStatus();
        pending_[rank].erase(started);
        continue;
      }
      absl::Status status = event.opcode == Opcode::kCollectiveStart
                                ? StartCollective({rank, event.instruction}, event.group, next)
                                : StartMessage({rank, event.instruction}, next);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status StartCollective(const Site& site, int32_t g, uint32_t event) {
    const CommunicationGroup& group = job_.groups[g];
    auto member = group.index_of.find(site.rank);
    if (member == group.index_of.end()) {
      return Error(site, absl::StrCat("rank ", site.rank, " runs it and is no member of group ", At(site).group(),
                                      ", [", absl::StrJoin(group.ranks, ","), "]"));
    }
    Collectives& collectives = collectives_[g];
    size_t number = collectives.started[member->second]++;
    pending_[site.rank][event] = {.group = g, .number = number};
    if (number == collectives.first.size()) {
      collectives.first.push_back(site);
      collectives.arrived.push_back(0);
    } else if (!SameCollective(At(collectives.first[number]), At(site))) {
      return Differ(group, number, collectives.first[number], site);
    }
    if (++collectives.arrived[number] == static_cast<int>(group.ranks.size())) {
      for (int rank : group.ranks) Wake(rank);
    }
    return absl::OkStatus();
  }

  absl::Status StartMessage(const Site& site, uint32_t event) {
    const Instruction& instruction = At(site);
    if (instruction.peer() == site.rank)
      return Error(site, absl::StrCat("rank ", site.rank, " is its own peer"));
    bool is_send = instruction.opcode() == Opcode::kSend;
    Awaited awaited{.from = is_send ? site.rank : instruction.peer(),
                    .to = is_send ? instruction.peer() : site.rank,
                    .tag = instruction.tag(),
                    .is_send = is_send};
    Messages& messages = messages_[{awaited.from, awaited.to, awaited.tag}];
    std::vector<Site>& mine = is_send ? messages.sends : messages.receives;
    awaited.number = mine.size();
    mine.push_back(site);
    pending_[site.rank][event] = awaited;
    if (messages.sends.size() <= awaited.number || messages.receives.size() <= awaited.number)
      return absl::OkStatus();
    Wake(instruction.peer());
    return Compare(awaited, messages.sends[awaited.number], messages.receives[awaited.number]);
  }

  bool IsOver(const Awaited& awaited) {
    if (awaited.group >= 0) {
      const Collectives& collectives = collectives_[awaited.group];
      return collectives.arrived[awaited.number] == static_cast<int>(job_.groups[awaited.group].ranks.size());
    }
    const Messages& messages = messages_[{awaited.from, awaited.to, awaited.tag}];
    return (awaited.is_send ? messages.receives : messages.sends).size() > awaited.number;
  }

  absl::Status CheckFinished() {
    std::vector<Waiting> waits;
    for (size_t rank = 0; rank < job_.ranks.size(); ++rank) {
      const RankCommunication& runs = job_.ranks[rank];
      if (runs.program == nullptr || next_[rank] == runs.events->size()) continue;
      const Awaited& awaited = pending_[rank].at((*runs.events)[next_[rank]].start);
      waits.push_back({static_cast<int>(rank), next_[rank], awaited, MissingIn(static_cast<int>(rank), awaited)});
    }
    return waits.empty() ? absl::OkStatus() : ExplainWaits(job_, waits);
  }

  // The ranks that have not started what `rank` waits for.
  std::vector<int> MissingIn(int rank, const Awaited& awaited) {
    if (awaited.group < 0) return {awaited.from == rank ? awaited.to : awaited.from};
    std::vector<int> missing;
    const CommunicationGroup& group = job_.groups[awaited.group];
    for (size_t i = 0; i < group.ranks.size(); ++i)
      if (collectives_[awaited.group].started[i] <= awaited.number) missing.push_back(group.ranks[i]);
    return missing;
  }

  absl::Status Error(const Site& site, absl::string_view message) const {
    return InstructionError(*job_.ranks[site.rank].program, site.instruction, message);
  }

  absl::Status Differ(const CommunicationGroup& group, size_t number, Site a, Site b) const {
    if (b.rank < a.rank) std::swap(a, b);
    return Error(a, absl::StrCat("collective ", number, " of group [", absl::StrJoin(group.ranks, ","), "]: rank ",
                                 a.rank, " starts ", DescribeCollective(At(a)), ", rank ", b.rank, " starts ",
                                 DescribeCollective(At(b)), " at instruction ", b.instruction, " (",
                                 std::string(Text(At(b).label())), ")"));
  }

  static std::string DescribeMemory(const Operand& operand) {
    std::string_view type = ElementName(operand.element_type());
    return absl::StrCat("[", absl::StrJoin(Span(operand.shape()), ","), "] x ", std::string(type), ", ",
                        ElementCount(Span(operand.shape())) * ElementBytes(operand.element_type()), " bytes");
  }

  absl::Status Compare(const Awaited& awaited, const Site& send, const Site& receive) const {
    const Operand& sent = *At(send).operands()->Get(0);
    const Operand& received = *At(receive).operands()->Get(0);
    if (sent.element_type() == received.element_type() && Span(sent.shape()) == Span(received.shape()))
      return absl::OkStatus();
    return Error(send, absl::StrCat("message ", awaited.number, " from rank ", awaited.from, " to rank ", awaited.to,
                                    ", tag ", awaited.tag, ": ", DescribeMemory(sent), " are sent, ",
                                    DescribeMemory(received), " are received at instruction ",
                                    receive.instruction, " (", std::string(Text(At(receive).label())), ")"));
  }

  const Communication& job_;
  std::vector<uint32_t> next_;                       // of each rank, the next event
  std::vector<std::map<uint32_t, Awaited>> pending_;  // of each rank, what it started and did not end, by event
  std::vector<Collectives> collectives_;             // by group
  std::map<Channel, Messages> messages_;
  std::deque<int> queue_;  // ranks that may be able to go on
  std::vector<bool> is_queued_;
};

}  // namespace

absl::Status CheckSchedule(const Executable& executable) {
  for (Mode mode : EnumValuesMode()) {
    Communication job = CommunicationOf(executable, mode);
    absl::Status status = Job(job).Check();
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace pdc::program
