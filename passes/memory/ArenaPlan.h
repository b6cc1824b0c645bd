//===- ArenaPlan.h - offsets of buffers whose lives are known ---*- C++ -*-===//
//
// Dynamic storage allocation, offline: intervals of time with sizes get addresses so that what lives together
// lies apart, in as little memory as possible. NP-hard (Garey and Johnson, problem SR2); greedy by size is
// what Pisarchyk and Lee ("Efficient memory management for deep neural net inference", 2020) found best in
// practice. A pure function of numbers: no IR here.
//
//===----------------------------------------------------------------------===//
#ifndef PDC_PASSES_MEMORY_ARENAPLAN_H
#define PDC_PASSES_MEMORY_ARENAPLAN_H

#include <cstdint>
#include <string>
#include <vector>

namespace pdc::passes {

/// Alive at every time from `first` to `last`, both included.
struct ArenaBuffer {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  int64_t alignment = 64; // bytes; a power of two
};

struct ArenaProblem {
  std::vector<ArenaBuffer> buffers;
  int64_t begin = 0; // bytes at the beginning of the arena that are taken
};

struct ArenaPlan {
  std::vector<int64_t> offsets; // one per buffer, bytes
  int64_t bytes = 0;            // size of the arena: the end of the last buffer, at least `begin`
};

/// What is wrong with the problem; empty if nothing is.
std::string checkArenaProblem(const ArenaProblem &problem);

/// No plan can be smaller: `begin` and the most bytes that are alive at one time.
int64_t arenaLowerBound(const ArenaProblem &problem);

/// The smallest of the plans that best-fit placement gives for three orders of the buffers: by size, by size
/// times length of life, by beginning of life.
ArenaPlan planArena(const ArenaProblem &problem);

/// What is wrong with a plan: two buffers that live together overlap, a wrong alignment, outside of the
/// arena. Empty if nothing is.
std::string verifyArenaPlan(const ArenaProblem &problem, const ArenaPlan &plan);

} // namespace pdc::passes

#endif // PDC_PASSES_MEMORY_ARENAPLAN_H
