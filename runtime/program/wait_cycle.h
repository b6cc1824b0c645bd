// Why ranks wait for ever: the smallest explanation there is.
#ifndef PDC_RUNTIME_PROGRAM_WAIT_CYCLE_H_
#define PDC_RUNTIME_PROGRAM_WAIT_CYCLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "runtime/program/communication.h"

namespace pdc::program {

// A collective, the n-th of its group, or a message, the n-th of its sender, receiver and tag; from one side.
struct Awaited {
  int32_t group = -1;  // of a collective; -1 for a message
  int from = -1, to = -1, tag = 0;
  bool is_send = false;  // this side of a message
  size_t number = 0;
};

// A rank that cannot go on.
struct Waiting {
  int rank;
  uint32_t event;  // the kCollectiveDone
  Awaited awaited;
  std::vector<int> missing;  // ranks that have not started it; never empty
};

// INVALID_ARGUMENT. If some rank never starts what another waits for, those two instructions; else every rank that is
// waited for waits itself, so that there are cycles, and one of the fewest ranks is printed. `waits` is every rank that
// has not finished.
absl::Status ExplainWaits(const Communication& job, const std::vector<Waiting>& waits);

}  // namespace pdc::program

#endif  // PDC_RUNTIME_PROGRAM_WAIT_CYCLE_H_
