// The main() of the conformance tests: [--communicator=inprocess|shared_memory|mpi] and GoogleTest's flags.
#include "tests/conformance/comm/ranks.h"

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <thread>

#include "runtime/comm/inprocess/world.h"
#include "runtime/comm/job.h"

namespace pdc::comm {

namespace {

// The rank of this process in the job that mpiexec started; null for in-process jobs.
std::unique_ptr<Communicator> job_communicator;
std::unique_ptr<Group> job_world;
std::unique_ptr<Rank> job_rank;

std::unique_ptr<Group> CreateWorldGroup(Communicator& communicator) {
  std::vector<int> all(communicator.size());
  std::iota(all.begin(), all.end(), 0);
  absl::StatusOr<std::unique_ptr<Group>> group = communicator.CreateGroup(std::move(all));
  if (!group.ok()) ADD_FAILURE() << group.status();
  return group.ok() ? std::move(*group) : nullptr;
}

void OnThread(Communicator& communicator, const std::function<void(Rank&)>& body) {
  absl::StatusOr<void*> memory = communicator.AllocateShared(Rank::kMemoryBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  std::unique_ptr<Group> world = CreateWorldGroup(communicator);
  ASSERT_NE(world, nullptr);
  Rank rank{communicator, *world, static_cast<std::byte*>(*memory), {}};
  body(rank);
}

}  // namespace

std::vector<int> JobSizes() {
  if (job_communicator != nullptr) return {job_communicator->size()};
  return {1, 2, 3, 4, 7};
}

void OnEveryRank(int size, const std::function<void(Rank&)>& body) {
  if (job_communicator != nullptr) {
    // A new test begins when all ranks have ended the one before.
    PDC_ASSERT_OK(job_communicator->Barrier(Soon()));
    return body(*job_rank);
  }
  absl::StatusOr<std::vector<std::unique_ptr<Communicator>>> world = CreateInProcessWorld(size);
  ASSERT_TRUE(world.ok()) << world.status();
  std::vector<std::thread> threads;
  for (std::unique_ptr<Communicator>& communicator : *world) {
    threads.emplace_back([&body, &communicator] {
      OnThread(*communicator, body);
      communicator.reset();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

int Main(int argc, char** argv) {
  std::string name = "inprocess";
  for (int i = 1; i < argc; ++i) {
    constexpr char kFlag[] = "--communicator=";
    if (std::strncmp(argv[i], kFlag, sizeof(kFlag) - 1) == 0) name = argv[i] + sizeof(kFlag) - 1;
  }
  if (name != "inprocess") {
    absl::StatusOr<std::unique_ptr<Communicator>> created = CreateForJob({name});
    if (!created.ok()) {
      std::cerr << created.status() << std::endl;
      return 1;
    }
    job_communicator = std::move(*created);
    if (job_communicator->name() != name) return 1;
    job_world = CreateWorldGroup(*job_communicator);
    absl::StatusOr<void*> memory = job_communicator->AllocateShared(Rank::kMemoryBytes);
    if (!memory.ok() || job_world == nullptr) {
      std::cerr << memory.status() << std::endl;
      return 1;
    }
    job_rank.reset(new Rank{*job_communicator, *job_world, static_cast<std::byte*>(*memory), {}});
  }
  // One rank answers to Bazel for all of them.
  if (job_communicator != nullptr && job_communicator->rank() != 0) unsetenv("TEST_PREMATURE_EXIT_FILE");
  testing::InitGoogleTest(&argc, argv);
  if (job_communicator != nullptr && job_communicator->rank() != 0) {
    GTEST_FLAG_SET(brief, true);  // failures only
    GTEST_FLAG_SET(output, "");
  }
  const int result = RUN_ALL_TESTS();
  job_rank.reset();
  job_world.reset();
  job_communicator.reset();
  return result;
}

}  // namespace pdc::comm

int main(int argc, char** argv) { return pdc::comm::Main(argc, argv); }
