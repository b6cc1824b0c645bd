//===- Explain.h - why a plan is as it is -----------------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_SEARCH_EXPLAIN_H
#define PDC_COMPILER_PLAN_SEARCH_EXPLAIN_H

#include "compiler/plan/ParallelSpec.h"
#include "compiler/plan/SearchOutcome.h"
#include "compiler/plan/problem/Solution.h"
#include "compiler/plan/search/SearchSpace.h"

namespace pdc::plan {

/// For each parameter, input and matmul or convolution with more than one choice: what was chosen, the best other
/// choice, and what the best plan with that one costs more.
std::vector<Decision> explainDecisions(nn::StepOp step, const SearchSpace &space, const Solution &solution);

/// How a planned step is parallel, in the words of --parallel: `data` is in how many parts inputs lie along the batch or,
/// where they are whole, most ops that work on the batch have it; `zero` which of optimizer state, gradients and parameters
/// are split over these axes, `tensor` the rest of the ranks.
ParallelSpec describeParallelism(nn::StepOp step, const ParallelSpec &asked, int64_t ranks);

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_SEARCH_EXPLAIN_H
