//===- StepTrace.cpp - a simulated step as a trace ------------------------===//

#include "compiler/simulate/StepTrace.h"
#include "nlohmann/json.hpp"

using namespace pdc;
using namespace pdc::simulate;
using nlohmann::ordered_json;
using program::Opcode;

/// Of runtime/base/trace.h, and the one that only a prediction has.
static constexpr const char *kLanes[] = {"compute", "communication", "input", "checkpoint", "links (predicted)"};
enum Lane { Compute, Communication, Links = 4 };

static Lane laneOf(Opcode opcode) {
  bool computes = opcode == Opcode::kKernel || opcode == Opcode::kLibrary || opcode == Opcode::kFill ||
                  opcode == Opcode::kCopy;
  return computes ? Compute : Communication;
}

static ordered_json metadata(const char *what, int rank, int lane, const std::string &name) {
  return {{"ph", "M"}, {"name", what}, {"pid", rank}, {"tid", lane}, {"args", {{"name", name}}}};
}

static ordered_json event(const std::string &name, int rank, Lane lane, double begin, double end,
                          int32_t instruction) {
  return {{"ph", "X"},
          {"name", name},
          {"pid", rank},
          {"tid", static_cast<int>(lane)},
          {"ts", begin * 1e6},
          {"dur", (end - begin) * 1e6},
          {"args", {{"step", 1}, {"instruction", instruction}}}};
}

std::string pdc::simulate::toChromeTrace(const RankSimulation &simulation,
                                         const std::vector<const program::ProgramT *> &programs) {
  ordered_json events = ordered_json::array();
  for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
    events.push_back(metadata("process_name", rank, 0, "rank " + std::to_string(rank)));
    for (int lane = 0; lane < static_cast<int>(std::size(kLanes)); ++lane)
      events.push_back(metadata("thread_name", rank, lane, kLanes[lane]));
    for (const SimulatedInstruction &done : simulation.ranks[rank].instructions) {
      const program::InstructionT &instruction = *programs[rank]->instructions[done.instruction];
      events.push_back(event(instruction.label, rank, laneOf(instruction.opcode), done.begin, done.end,
                             done.instruction));
    }
  }
  for (const SimulatedTransfer &transfer : simulation.transfers)
    for (size_t i = 0; i < transfer.ranks.size(); ++i) {
      int rank = transfer.ranks[i];
      int32_t instruction = transfer.instructions[i];
      events.push_back(event(programs[rank]->instructions[instruction]->label, rank, Links, transfer.begin,
                             transfer.end, instruction));
    }
  return "{\"displayTimeUnit\": \"ms\", \"traceEvents\": " + events.dump(0) + "}\n";
}
