// How communicators fail: in bounded time, everywhere, and saying who was missing where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/comm/inprocess/world.h"

namespace pdc::comm {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kBytes = 4096;

struct Rank {
  std::unique_ptr<Communicator> comm;
  std::unique_ptr<Group> world;
  float* data = nullptr;

  absl::StatusOr<std::unique_ptr<Pending>> AllReduce(int64_t count) {
    return comm->AllReduce(*world, data, count, ElementType::kF32, ReduceOp::kSum);
  }
};

std::vector<Rank> CreateWorld(int size) {
  std::vector<int> all;
  for (int i = 0; i < size; ++i) all.push_back(i);
  std::vector<Rank> ranks;
  std::vector<std::unique_ptr<Communicator>> world = CreateInProcessWorld(size).value();
  for (std::unique_ptr<Communicator>& communicator : world) {
    Rank rank;
    rank.comm = std::move(communicator);
    rank.world = rank.comm->CreateGroup(all).value();
    rank.data = static_cast<float*>(rank.comm->AllocateShared(kBytes).value());
    ranks.push_back(std::move(rank));
  }
  return ranks;
}

absl::Status WaitFor(absl::StatusOr<std::unique_ptr<Pending>> pending, Clock::duration patience) {
  if (!pending.ok()) return pending.status();
  return (*pending)->Wait(Clock::now() + patience);
}

std::string Text(const absl::Status& status) { return std::string(status.message()); }

TEST(FailureTest, AnExpiredDeadlineNamesTheMissingRankBothPositionsAndTheOperation) {
  std::vector<Rank> ranks = CreateWorld(3);
  ranks[0].comm->SetPosition({3, 17});
  ranks[1].comm->SetPosition({3, 17});
  ranks[2].comm->SetPosition({2, 40});
  auto arrived = ranks[1].AllReduce(10);
  absl::Status status = WaitFor(ranks[0].AllReduce(10), milliseconds(200));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(status),
              HasSubstr("rank 0, step 3, instruction 17: all_reduce of 10 f32 over ranks [0, 1, 2] "
                        "timed out after 0."));
  EXPECT_THAT(Text(status), HasSubstr("rank 2 (last at step 2, instruction 40) has not arrived"));
  EXPECT_THAT(Text(status), Not(HasSubstr("rank 1 (")));
}

TEST(FailureTest, ARankThatReportedNoPositionIsSaidToBeBeforeTheFirstStep) {
  std::vector<Rank> ranks = CreateWorld(2);
  absl::Status status = ranks[0].comm->Barrier(Clock::now() + milliseconds(50));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(status), HasSubstr("barrier over ranks [0, 1] timed out"));
  EXPECT_THAT(Text(status), HasSubstr("rank 1 (last at before the first step) has not arrived"));
}

TEST(FailureTest, AnExpiredReceiveNamesTheSender) {
  std::vector<Rank> ranks = CreateWorld(2);
  ranks[1].comm->SetPosition({5, 6});
  int value = 0;
  absl::Status status = WaitFor(ranks[0].comm->Receive(&value, sizeof(value), 1, 4), milliseconds(50));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(Text(status), HasSubstr("receive of 4 bytes from rank 1 with tag 4 timed out"));
  EXPECT_THAT(Text(status), HasSubstr("rank 1 (last at step 5, instruction 6) has not sent"));
}

TEST(FailureTest, AnOperationThatWaitsForItsTurnNamesTheOneThatIsStuck) {
  std::vector<Rank> ranks = CreateWorld(2);
  auto first = ranks[0].AllReduce(10);
  absl::Status status = WaitFor(ranks[0].AllReduce(20), milliseconds(50));
  EXPECT_THAT(Text(status), HasSubstr("all_reduce of 20 f32 over ranks [0, 1] timed out"));
  EXPECT_THAT(Text(status),
              HasSubstr("it waits for an earlier all_reduce of 10 f32 over ranks [0, 1]: rank 1"));
}

TEST(FailureTest, AfterAFailureEverythingFailsWithTheSameStatus) {
  std::vector<Rank> ranks = CreateWorld(2);
  auto other = ranks[0].AllReduce(10);
  absl::Status status = WaitFor(ranks[0].AllReduce(10), milliseconds(50));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(WaitFor(std::move(other), seconds(10)), status);
  EXPECT_EQ(WaitFor(ranks[0].AllReduce(10), seconds(10)), status);
  EXPECT_EQ(ranks[0].comm->Barrier(Clock::now() + seconds(10)), status);
}

TEST(FailureTest, AbortWakesAllWaitersAtOnceWithItsReason) {
  std::vector<Rank> ranks = CreateWorld(4);
  std::vector<std::thread> threads;
  const Clock::time_point begin = Clock::now();
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&ranks, r] {
      int value = 0;
      absl::Status status = r == 0   ? WaitFor(ranks[r].AllReduce(10), seconds(60))
                            : r == 1 ? ranks[r].comm->Barrier(Clock::now() + seconds(60))
                                     : WaitFor(ranks[r].comm->Receive(&value, 4, 3, 0), seconds(60));
      EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
      EXPECT_THAT(Text(status), HasSubstr("rank 3 ended the job: no space left on device"));
    });
  }
  std::this_thread::sleep_for(milliseconds(100));
  ranks[3].comm->Abort(absl::ResourceExhaustedError("no space left on device"));
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(Clock::now() - begin, seconds(30));
  EXPECT_EQ(WaitFor(ranks[3].AllReduce(1), seconds(60)).code(), absl::StatusCode::kAborted);
}

TEST(FailureTest, DifferentOperationsOnDifferentRanksAreBothNamed) {
  std::vector<Rank> ranks = CreateWorld(2);
  ranks[1].comm->SetPosition({1, 9});
  auto other = ranks[1].comm->Broadcast(*ranks[1].world, ranks[1].data, 10, ElementType::kF32, 1);
  absl::Status status = WaitFor(ranks[0].AllReduce(10), seconds(30));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status),
              HasSubstr("all_reduce of 10 f32 over ranks [0, 1]: rank 1 (last at step 1, instruction 9) "
                        "runs broadcast of 10 f32 from member 1 instead"));
  EXPECT_EQ(WaitFor(std::move(other), seconds(30)).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FailureTest, DifferentCountsOnDifferentRanksAreBothNamed) {
  std::vector<Rank> ranks = CreateWorld(2);
  auto other = ranks[1].AllReduce(11);
  absl::Status status = WaitFor(ranks[0].AllReduce(10), seconds(30));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), HasSubstr("runs all_reduce of 11 f32 (sum) instead"));
}

TEST(FailureTest, CountsPerMemberThatDifferAreNoticedWhenTheirSumAgrees) {
  std::vector<Rank> ranks = CreateWorld(2);
  auto other = ranks[1].comm->AllGather(*ranks[1].world, ranks[1].data, {4, 6}, ElementType::kF32);
  absl::Status status = WaitFor(
      ranks[0].comm->AllGather(*ranks[0].world, ranks[0].data, {5, 5}, ElementType::kF32), seconds(30));
  EXPECT_THAT(Text(status), HasSubstr("the counts per member differ"));
}

TEST(FailureTest, AMessageOfAnotherSizeIsRefused) {
  std::vector<Rank> ranks = CreateWorld(2);
  int64_t value = 1;
  auto send = ranks[1].comm->Send(&value, 8, 0, 0);
  absl::Status status = WaitFor(ranks[0].comm->Receive(&value, 4, 1, 0), seconds(30));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Text(status), HasSubstr("receive of 4 bytes from rank 1 with tag 0: the message has 8 bytes"));
}

TEST(FailureTest, CollectivesRefuseMemoryThatPeersCannotReach) {
  std::vector<Rank> ranks = CreateWorld(2);
  std::vector<float> own(10);
  absl::Status status =
      ranks[0].comm->AllReduce(*ranks[0].world, own.data(), 10, ElementType::kF32, ReduceOp::kSum).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Text(status), HasSubstr("does not come from AllocateShared()"));
  // One element too many.
  EXPECT_EQ(ranks[0].AllReduce(kBytes / sizeof(float) + 1).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(FailureTest, ACommunicatorCanBeDestroyedWithAnOperationInFlight) {
  std::vector<Rank> ranks = CreateWorld(2);
  auto pending = ranks[0].AllReduce(10);
  ASSERT_TRUE(pending.ok());
  pending->reset();
  ranks.clear();
}

}  // namespace
}  // namespace pdc::comm
