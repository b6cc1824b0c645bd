//===- BruteForce.h - every plan, one after the other -----------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_BRUTEFORCE_H
#define PDC_COMPILER_PLAN_PROBLEM_BRUTEFORCE_H

#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// Evaluates every plan: what the other searches are tested against. For a few million plans at most.
Solution solveByBruteForce(const Problem &problem);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_BRUTEFORCE_H
