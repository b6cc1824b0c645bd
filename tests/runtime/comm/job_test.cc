#include "runtime/comm/job.h"

#include <gtest/gtest.h>

#include <string>

namespace pdc::comm {
namespace {

TEST(JobTest, AnUnknownCommunicatorIsRefusedWithTheKnownOnes) {
  absl::Status status = CreateForJob({"carrier_pigeon"}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "unknown communicator 'carrier_pigeon'; expected auto, mpi, shared_memory or "
            "hierarchical");
}

TEST(JobTest, AProcessWithoutMpiexecIsAJobOfOneRank) {
  absl::StatusOr<std::unique_ptr<Communicator>> communicator = CreateForJob();
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  EXPECT_EQ((*communicator)->rank(), 0);
  EXPECT_EQ((*communicator)->size(), 1);
  EXPECT_EQ((*communicator)->name(), "inprocess");
  EXPECT_TRUE((*communicator)->Barrier(Clock::now() + std::chrono::seconds(10)).ok());
}

}  // namespace
}  // namespace pdc::comm
