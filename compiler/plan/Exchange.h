//===- Exchange.h - how replicas of stages share micro-batches --*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_EXCHANGE_H
#define PDC_COMPILER_PLAN_EXCHANGE_H

#include <optional>

namespace pdc::plan {

/// What a step takes where the replicas of a stage share each micro-batch, and where they take whole ones in turn, simulated;
/// none of what cannot run or does not fit.
struct Exchange {
  std::optional<double> splitSeconds, turnsSeconds;
  bool takesTurns = false;
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_EXCHANGE_H
