//===- StepEstimate.h - what a rank program costs on a machine --*- C++ -*-===//
#ifndef PDC_COMPILER_COST_STEPESTIMATE_H
#define PDC_COMPILER_COST_STEPESTIMATE_H

#include "compiler/machine/Machine.h"
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

/// Runs the list on two streams, one that computes and one that communicates: a collective begins when it is
/// started and the one before it has ended; `done` waits for it. Compute is a roofline: the larger of
/// arithmetic and memory time (Williams et al. 2009). An all-reduce of b bytes over n ranks takes 2 (n - 1) /
/// n * b / bandwidth plus 2 (n - 1) latencies (Thakur et al. 2005, ring).
StepEstimate estimateStep(const program::ProgramT &program, const machine::Machine &machine, int threads,
                          bool bf16);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_STEPESTIMATE_H
