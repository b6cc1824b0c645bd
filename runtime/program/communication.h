// What rank programs say to other ranks, without all that they compute between: what the checker and simulations of
// schedules look at. A job's groups and channels are numbered once, so that looking at an event costs no look-up of
// names, however many ranks there are; ranks that share a program share its events.
#ifndef PDC_RUNTIME_PROGRAM_COMMUNICATION_H_
#define PDC_RUNTIME_PROGRAM_COMMUNICATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/program/program_generated.h"

namespace pdc::program {

// An instruction that starts or ends communication.
struct CommunicationEvent {
  Opcode opcode = Opcode::kCollectiveDone;  // kCollectiveStart, kCollectiveDone, kSend or kReceive
  uint32_t instruction = 0;
  int32_t group = -1;  // collectives: index into Communication::groups
  uint32_t start = 0;  // kCollectiveDone: the event that it ends
};

// One group of the job.
struct CommunicationGroup {
  std::vector<int> ranks;
  std::map<int, uint32_t> index_of;  // rank -> its place in `ranks`
};

// What a rank runs in one mode.
struct RankCommunication {
  const Program* program = nullptr;                       // null: it has no program of this mode
  std::shared_ptr<const std::vector<CommunicationEvent>> events;
};

// One mode of a job.
struct Communication {
  std::vector<CommunicationGroup> groups;
  std::vector<RankCommunication> ranks;
};

// Of an executable whose programs obey the rules of CheckProgram().
Communication CommunicationOf(const Executable& executable, Mode mode);

// "all_reduce 8 x f32, counts [], sum, root 0, tag 0": all that the members of a group must agree on.
std::string DescribeCollective(const Instruction& instruction);
// Whether they do.
bool SameCollective(const Instruction& a, const Instruction& b);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_COMMUNICATION_H_
