#include "runtime/comm/mpi/call_watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace pdc::comm {
namespace {

using std::chrono::milliseconds;

TEST(CallWatchTest, ACallThatTakesTooLongEndsTheProcessAndSaysWhich) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const CallWatch watch(3, "starting MPI", milliseconds(100));
        std::this_thread::sleep_for(std::chrono::seconds(60));
      },
      testing::ExitedWithCode(1),
      "error: the job ends: DEADLINE_EXCEEDED: rank 3: starting MPI, which all ranks do together, timed out after 0.1 s: "
      "another rank has stopped, ended or is cut off");
}

TEST(CallWatchTest, ACallThatReturnsInTimeIsForgotten) {
  for (int i = 0; i < 100; ++i) const CallWatch watch(0, "starting MPI", milliseconds(100));
  std::this_thread::sleep_for(milliseconds(200));
}

}  // namespace
}  // namespace pdc::comm
