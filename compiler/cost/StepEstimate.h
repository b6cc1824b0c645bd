//===- StepEstimate.h - what a rank program costs on a cluster --*- C++ -*-===//
#ifndef PDC_COMPILER_COST_STEPESTIMATE_H
#define PDC_COMPILER_COST_STEPESTIMATE_H

#include "compiler/cost/CostModel.h"
#include "runtime/program/program_generated.h"
#include <map>
#include <string>

namespace pdc::cost {

struct StepEstimate {
  double stepSeconds = 0;
  double computeSeconds = 0;
  double exposedCommunicationSeconds = 0;  // time in which a rank waits and computes nothing
  std::map<std::string, double> commBytes; // collective -> bytes of its operands on this rank
};

/// Runs the list of `rank` on two streams, one that computes and one that communicates: a collective begins when it
/// is started and the one before it has ended; `done` waits for it. The cluster's `overlap` is the share of
/// a collective's time that runs beside compute: the rest is taken from the rank itself.
StepEstimate estimateStep(const program::ProgramT &program, int64_t rank, const machine::Cluster &cluster,
                          const CostModel &model);

/// What one instruction that computes does.
OpWork workOf(const program::InstructionT &instruction);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_STEPESTIMATE_H
