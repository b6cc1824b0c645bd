//===- Ilp.h - the problem as an integer program ----------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_ILP_H
#define PDC_COMPILER_PLAN_PROBLEM_ILP_H

#include "compiler/plan/problem/Solution.h"

namespace pdc::plan {

/// Solves with CBC (branch and cut): a 0-1 variable for each choice, one of each node is 1; a variable between
/// 0 and 1 for each pair of choices of an edge, whose sums over rows and columns are the choices' variables
/// (the local polytope; Zheng et al. 2022, Alpa, section 4.2, have the same but for its equations); memory is
/// one row. Stops after `maxSeconds` of processor time with the bound that it has then. A second opinion: as
/// exact as CBC's tolerances, and far slower than solve().
Solution solveByIlp(const Problem &problem, double maxSeconds = 60);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_ILP_H
