//===- MinProjections.h - sums of tables by some of their axes --*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_MINPROJECTIONS_H
#define PDC_COMPILER_PLAN_PROBLEM_MINPROJECTIONS_H

#include "compiler/plan/problem/AxisTables.h"
#include <cstdint>
#include <vector>

namespace pdc::plan {

/// For each list of axes, the least sum of the tables for each entry of these axes over all others.
std::vector<std::vector<double>> minProjections(const std::vector<uint32_t> &extents,
                                                const std::vector<AxisTable> &tables,
                                                const std::vector<std::vector<uint32_t>> &targets);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_MINPROJECTIONS_H
