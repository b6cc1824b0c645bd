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
  std::map<std::string, double> commBytes; // collective, or "p2p" -> bytes of its operands on this rank
};

/// Scalar operations of vector code in one call of a kernel, by its symbol.
using KernelOperations = std::map<std::string, double>;

/// Runs the list of `rank` on two streams, one that computes and one that communicates: a collective begins when it
/// is started and the one before it has ended; `done` waits for it. The cluster's `overlap` is the share of
/// a collective's time that runs beside compute: the rest is taken from the rank itself.
StepEstimate estimateStep(const program::ProgramT &program, int64_t rank, const machine::Cluster &cluster,
                          const CostModel &model, const KernelOperations &kernels = {});

/// What one instruction that computes does. Kernels that are not in `kernels` do the FLOPs that the program states,
/// in which a transcendental function counts no more than an addition.
/// `workingSetBytes` are those of the step's arenas; 0: not known.
OpWork workOf(const program::InstructionT &instruction, const KernelOperations &kernels = {},
              double workingSetBytes = 0);

/// How long the collective, send or receive takes that an instruction of `rank` starts.
double communicationSeconds(const program::InstructionT &instruction, const program::ProgramT &program,
                            int64_t rank, const machine::Cluster &cluster, const CostModel &model);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_STEPESTIMATE_H
