//===- TransformerProblem.h - the training step of a transformer, in numbers ===//
#ifndef PDC_TOOLS_BENCH_SOLVER_TRANSFORMERPROBLEM_H
#define PDC_TOOLS_BENCH_SOLVER_TRANSFORMERPROBLEM_H

#include "compiler/plan/problem/Problem.h"

namespace pdc::plan {

struct TransformerShape {
  uint32_t layers = 24;
  uint32_t states = 4; // of a value on one mesh axis: replicated, partial sum, split along a dimension, ...
  uint32_t splits = 4; // of an op on one mesh axis: not at all, or along one of its loops
  unsigned seed = 1;
};

/// A problem of the form that a planner makes of a training step on a mesh of two axes: a node for the layout
/// of each value (states ^ 2 choices) and for the split of each op (splits ^ 2 choices), and an edge for each
/// operand and result, whose table is the time of resharding. Forward ops, their gradients and the updates
/// of a pre-norm block; all layers share their tables. Times are made up, shapes and structure are not.
Problem makeTransformerProblem(const TransformerShape &shape);

} // namespace pdc::plan

#endif // PDC_TOOLS_BENCH_SOLVER_TRANSFORMERPROBLEM_H
