//===- StepEstimate.cpp - what a rank program costs on a machine ----------===//

#include "compiler/cost/StepEstimate.h"
#include "runtime/program/view.h"
#include <algorithm>

using namespace pdc;
using namespace pdc::program;

static double operandBytes(const InstructionT &instruction) {
  double bytes = 0;
  for (const auto &operand : instruction.operands) {
    double elements = 1;
    for (int64_t size : operand->shape)
      elements *= static_cast<double>(size);
    bytes += elements * static_cast<double>(ElementBytes(operand->element_type));
  }
  return bytes;
}

/// The ring algorithms of Thakur et al. 2005: how often a byte crosses a link, and how many messages follow
/// each other.
static double collectiveSeconds(const InstructionT &instruction, double ranks, double bytes,
                                const machine::Machine &machine) {
  bool isAllReduce = instruction.target == "all_reduce";
  double rounds = (isAllReduce ? 2 : 1) * (ranks - 1);
  return rounds / ranks * bytes / machine.linkBytesPerSecond + rounds * machine.linkLatencySeconds;
}

cost::StepEstimate cost::estimateStep(const ProgramT &program, const machine::Machine &machine, int threads,
                                      bool bf16) {
  StepEstimate estimate;
  double flopsPerSecond = threads * (bf16 ? machine.bf16FlopsPerSecond : machine.flopsPerSecond);
  double bytesPerSecond = threads * machine.memoryBytesPerSecond;
  double now = 0, communicationFree = 0;
  std::map<size_t, double> ends; // instruction index of a start -> when it ends

  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const InstructionT &instruction = *program.instructions[i];
    if (instruction.opcode == Opcode::kCollectiveStart) {
      double bytes = operandBytes(instruction);
      double ranks = static_cast<double>(program.groups.at(instruction.group)->ranks.size());
      double begin = std::max(now, communicationFree);
      communicationFree = begin + collectiveSeconds(instruction, ranks, bytes, machine);
      ends[i] = communicationFree;
      estimate.commBytes[instruction.target] += bytes;
    } else if (instruction.opcode == Opcode::kCollectiveDone) {
      double end = ends[static_cast<size_t>(instruction.start_index)];
      estimate.exposedCommunicationSeconds += std::max(0.0, end - now);
      now = std::max(now, end);
    } else {
      double seconds = machine.instructionSeconds + std::max(instruction.flops / flopsPerSecond,
                                                             instruction.traffic_bytes / bytesPerSecond);
      estimate.computeSeconds += seconds;
      now += seconds;
    }
  }
  estimate.stepSeconds = now;
  return estimate;
}
