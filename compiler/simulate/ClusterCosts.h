//===- ClusterCosts.h - what rank programs take on a cluster ----*- C++ -*-===//
#ifndef PDC_COMPILER_SIMULATE_CLUSTERCOSTS_H
#define PDC_COMPILER_SIMULATE_CLUSTERCOSTS_H

#include "compiler/cost/InstructionCost.h"
#include "compiler/simulate/RankSimulation.h"

namespace pdc::simulate {

/// Times of cost::CostModel. A message takes what it takes alone (cost::p2pSeconds): who shares its links is found in
/// the simulation. They are those of the level that joins the two ranks: of a bus, the bus; of links that belong to
/// members, the way out of the sender's member and into the receiver's, one and the same where the link is half
/// duplex; of links of devices, none beside the ranks' copy engines. A collective occupies those of all levels that join
/// its ranks, in both directions; its time counts the groups that run beside it, so that collectives share links, and
/// messages wait. `threads` of each rank, where devices are cores. Everything that is passed outlives the result.
StepCosts costsOnCluster(const machine::Cluster &cluster, const cost::CostModel &model,
                         const cost::KernelOperations &kernels, int threads = 1);

/// The programs of `executable` in one mode, by rank. Empty where a rank has none.
std::vector<const program::ProgramT *> programsOf(const program::ExecutableT &executable, program::Mode mode);

} // namespace pdc::simulate

#endif // PDC_COMPILER_SIMULATE_CLUSTERCOSTS_H
