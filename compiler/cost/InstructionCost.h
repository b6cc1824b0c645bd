//===- InstructionCost.h - what an instruction costs ------------*- C++ -*-===//
#ifndef PDC_COMPILER_COST_INSTRUCTIONCOST_H
#define PDC_COMPILER_COST_INSTRUCTIONCOST_H

#include "compiler/cost/CostModel.h"
#include "runtime/program/program_generated.h"
#include <map>
#include <string>

namespace pdc::cost {

/// Scalar operations of vector code in one call of a kernel, by its symbol.
using KernelOperations = std::map<std::string, double>;

/// What one instruction that computes does. Kernels that are not in `kernels` do the FLOPs that the program states,
/// in which a transcendental function counts no more than an addition.
/// `workingSetBytes` are those of the step's arenas; 0: not known.
OpWork workOf(const program::InstructionT &instruction, const KernelOperations &kernels = {},
              double workingSetBytes = 0);

/// How long the collective, send or receive takes that an instruction of `rank` starts.
double communicationSeconds(const program::InstructionT &instruction, const program::ProgramT &program,
                            int64_t rank, const machine::Cluster &cluster, const CostModel &model);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_INSTRUCTIONCOST_H
