//===- DeviceMemory.h - what does not fit into a device ---------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_DEVICEMEMORY_H
#define PDC_COMPILER_PLAN_DEVICEMEMORY_H

#include "compiler/machine/Cluster.h"
#include "llvm/ADT/ArrayRef.h"

namespace pdc::plan {

/// A rank whose arenas exceed its device's memory. Where devices are cores, of the ranks of a node the one with the largest
/// arenas, with what all of them need.
struct MemoryExcess {
  int64_t rank = 0;
  std::string device; // or "host"
  double neededBytes = 0, availableBytes = 0;
};

/// The ranks whose arenas (in bytes, by rank) do not fit into the cluster that a plan is made for.
std::vector<MemoryExcess> findExcess(const machine::Cluster &cluster, llvm::ArrayRef<int64_t> arenaBytes);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_DEVICEMEMORY_H
