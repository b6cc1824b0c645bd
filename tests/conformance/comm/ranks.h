// Runs one body on every rank of a job, whatever the communicator: as threads of this process, or as this
// process of a job that mpiexec started.
#ifndef PDC_TESTS_CONFORMANCE_COMM_RANKS_H_
#define PDC_TESTS_CONFORMANCE_COMM_RANKS_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"

namespace pdc::comm {

// One rank, with memory that is reused by all tests of a job. Collective operations of a test go over `world`
// unless it is about groups.
struct Rank {
  Communicator& comm;
  Group& world;
  std::byte* memory;  // shared, kMemoryBytes
  std::vector<std::byte> private_memory;

  static constexpr size_t kMemoryBytes = 1 << 19;
};

// Sizes of the jobs that the tests of this process run on.
std::vector<int> JobSizes();
// Runs `body` on all ranks (of this process) of a job of `size` ranks and returns when all have returned.
void OnEveryRank(int size, const std::function<void(Rank&)>& body);

inline Clock::time_point Soon() { return Clock::now() + std::chrono::seconds(60); }

// Waits for a started operation.
inline absl::Status Finish(absl::StatusOr<std::unique_ptr<Pending>> pending) {
  if (!pending.ok()) return pending.status();
  return (*pending)->Wait(Soon());
}

#define PDC_EXPECT_OK(expression)                         \
  do {                                                    \
    const absl::Status pdc_expected_ok = (expression);    \
    EXPECT_TRUE(pdc_expected_ok.ok()) << pdc_expected_ok; \
  } while (false)
#define PDC_ASSERT_OK(expression)                         \
  do {                                                    \
    const absl::Status pdc_expected_ok = (expression);    \
    ASSERT_TRUE(pdc_expected_ok.ok()) << pdc_expected_ok; \
  } while (false)

}  // namespace pdc::comm

#endif  // PDC_TESTS_CONFORMANCE_COMM_RANKS_H_
