//===- Segments.h - which values of a forward pass are kept -----*- C++ -*-===//
//
// A forward pass is a chain of ops, cut into segments at borders. What is alive at a border is kept; the backward pass
// computes a segment again from what is kept at its beginning, when it comes to it, and drops it when it is through
// (Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016).
//
//     ops        0    1    2    3    4    5    6    7    8
//                |---- segment 0 ----|-- 1 --|-- segment 2 --|
//     borders                        4       6
//
// Few borders make long segments, of which much is alive at once; many borders keep much, of each micro-batch that is in
// flight. This file knows numbers only.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_RECOMPUTE_SEGMENTS_H
#define PDC_PASSES_RECOMPUTE_SEGMENTS_H

#include <cstdint>
#include <string>
#include <vector>

namespace pdc::passes {

/// A value of the forward pass.
struct ChainValue {
  int64_t bytes = 0;
  int64_t made = 0;      // by which op
  int64_t lastUse = 0;   // the last op of the forward pass that reads it; `made` if none does
  bool isNeeded = false; // by the backward pass
  bool operator==(const ChainValue &) const = default;
};

struct ChainProblem {
  int64_t ops = 0;
  std::vector<ChainValue> values;
  /// Per op, the bytes that its backward leaves behind (the gradients of its parameters); empty: none.
  std::vector<int64_t> leftBytes;
  /// Other micro-batches whose kept values are there at the same time.
  int64_t othersInFlight = 0;
  /// The backward pass follows at once: nothing of the last segment is computed again.
  bool isLastKept = false;
  /// Where the chain may be cut, ascending, from 1 to ops - 1: border i lies before op i.
  std::vector<int64_t> candidates;
  bool operator==(const ChainProblem &) const = default;
};

struct SegmentPlan {
  std::vector<int64_t> borders; // ascending
  int64_t peakBytes = 0;
};

/// What is wrong with the problem; empty if nothing is.
std::string checkChain(const ChainProblem &problem);

/// The most bytes that are there at once in the backward pass: what is kept at all borders, of each of the others in flight;
/// and, when the backward pass is at a segment, what is kept at the borders up to its beginning, what the backward pass
/// needs of the segment itself, and what the ops behind have left.
int64_t peakOf(const ChainProblem &problem, const std::vector<int64_t> &borders);

/// The borders with the least peak; where several are equal, those that keep least at borders, and of these, those for which
/// least (in bytes that the backward pass needs) is computed again. Exact.
///
/// What is kept at a border and was not kept at the one before depends on these two alone, since a value is alive from one op
/// to another without a gap. For a bound on what the segments need, dynamic programming over borders therefore finds the
/// least that must be kept; the bound falls from one solution's to the next, until what the others keep alone costs as much
/// as the best that was found. O(borders^2) for each bound.
SegmentPlan chooseSegments(const ChainProblem &problem);

} // namespace pdc::passes

#endif // PDC_PASSES_RECOMPUTE_SEGMENTS_H
