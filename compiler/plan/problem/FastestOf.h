//===- FastestOf.h - the fastest plan of several problems -------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_FASTESTOF_H
#define PDC_COMPILER_PLAN_PROBLEM_FASTESTOF_H

#include "compiler/plan/problem/BestOf.h"

namespace pdc::plan {

/// Searches problems without memory limits of which only the one with the fastest plan matters. First those that elimination
/// solves at once; what is wide is then searched, that with the fastest known plan first, only for plans that are faster than
/// the fastest that is known by then: most of it leaves by its bounds. So of each problem there is a plan where there is one,
/// and a bound; of the one with the fastest plan, it is proved as solve() proves it.
void solveFastestOf(std::vector<OpenProblem> &problems, SearchLimits limits = {});

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_FASTESTOF_H
