//===- DeviceKinds.h - devices of several kinds, compared -------*- C++ -*-===//
#ifndef PDC_COMPILER_COST_DEVICEKINDS_H
#define PDC_COMPILER_COST_DEVICEKINDS_H

#include "compiler/cost/CostModel.h"
#include "compiler/machine/Cluster.h"
#include <cstdint>
#include <vector>

namespace pdc::cost {

/// The first ranks of the groups of nodes on which some of `count` ranks from `first` on lie: one for each kind of device.
/// Never empty; ranks beyond the cluster have the last group's device.
std::vector<int64_t> ranksOfEachKind(const machine::Cluster &cluster, int64_t first, int64_t count);

/// Of these, the one whose device takes longest for a large matrix product.
int64_t slowestKind(const CostModel &model, const machine::Cluster &cluster, int64_t first, int64_t count);

/// How many times as long as on rank 0's device such a product takes on that of `rank`; 1 under a model that does not count
/// work.
double slowness(const CostModel &model, int64_t rank);

} // namespace pdc::cost

#endif // PDC_COMPILER_COST_DEVICEKINDS_H
