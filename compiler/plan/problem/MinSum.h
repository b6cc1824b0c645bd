//===- MinSum.h - the inner loops of elimination ----------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_MINSUM_H
#define PDC_COMPILER_PLAN_PROBLEM_MINSUM_H

#include "compiler/plan/problem/AxisTables.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pdc::plan {

/// The tables that depend on one variable, and the axes (variables) that they have together.
struct Bucket {
  std::vector<uint32_t> extents; // of each axis
  uint32_t eliminated = 0;       // the axis that is minimized over
  std::vector<AxisTable> tables; // each has the axis `eliminated`

  size_t entries() const;        // product of all extents
  size_t messageEntries() const; // without the eliminated axis
};

/// Adds the tables up and takes the least over the eliminated axis: for each entry of the other axes
///     message[x] = min over v of sum over tables of table[x, v].
/// The message's axes are the bucket's without `eliminated`, in order.
std::vector<double> minSum(const Bucket &bucket);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_MINSUM_H
