//===- Domains.h - which choices a search looks at --------------*- C++ -*-===//
#ifndef PDC_COMPILER_PLAN_PROBLEM_DOMAINS_H
#define PDC_COMPILER_PLAN_PROBLEM_DOMAINS_H

#include "compiler/plan/problem/Problem.h"

namespace pdc::plan {

/// The choices of each node that may be part of a plan, ascending.
using Domains = std::vector<std::vector<uint32_t>>;

/// All choices that are not banned, forbidden, or left by a fixed one.
Domains allowedChoices(const Problem &problem);

/// Whether a node has no choice left: there is no plan.
bool hasEmptyDomain(const Domains &domains);

/// What the search prices: seconds and, where memory is scarce, bytes.
struct Pricing {
  double secondsPerByte = 0; // 0: memory costs nothing
  bool isByteCount = false;  // bytes only: the plan of least memory among those that are possible

  /// Whether a cost is the seconds alone.
  bool isOfSeconds() const { return secondsPerByte == 0 && !isByteCount; }
  double cost(double seconds, int64_t bytes) const {
    if (isByteCount)
      return seconds == forbidden ? forbidden : static_cast<double>(bytes);
    return secondsPerByte == 0 ? seconds : seconds + secondsPerByte * static_cast<double>(bytes);
  }
  double unary(const UnaryTable &table, uint32_t choice) const {
    return cost(table.seconds[choice], table.bytes.empty() ? 0 : table.bytes[choice]);
  }
  double pair(const PairTable &table, uint32_t row, uint32_t column) const {
    return cost(table.secondsAt(row, column), table.bytesAt(row, column));
  }
};

} // namespace pdc::plan

#endif // PDC_COMPILER_PLAN_PROBLEM_DOMAINS_H
