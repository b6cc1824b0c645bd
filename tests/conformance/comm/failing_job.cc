// A job whose last rank misbehaves in step 3: COMMUNICATOR SCENARIO, under mpiexec. The other ranks wait for
// it in an all_reduce with a deadline of two seconds, write the error they get to standard error and end the
// job. In the scenario "endless" none misbehaves, and steps go on until something outside ends the job.
#include <csignal>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "runtime/comm/job.h"

namespace pdc::comm {
namespace {

void Misbehave(const std::string& scenario, Communicator& communicator) {
  if (scenario == "stop") raise(SIGSTOP);
  if (scenario == "kill") raise(SIGKILL);
  if (scenario == "exit") std::_Exit(3);
  if (scenario == "late") std::this_thread::sleep_for(std::chrono::seconds(60));
  if (scenario == "abort") communicator.Abort(absl::ResourceExhaustedError("no space left on device"));
}

int Main(const std::string& name, const std::string& scenario) {
  absl::StatusOr<std::unique_ptr<Communicator>> created = CreateForJob({name});
  if (!created.ok()) {
    std::cerr << created.status() << std::endl;
    return 1;
  }
  Communicator& communicator = **created;
  std::vector<int> all;
  for (int i = 0; i < communicator.size(); ++i) all.push_back(i);
  auto group = communicator.CreateGroup(all);
  absl::StatusOr<void*> data = communicator.AllocateShared(4096);
  if (!group.ok() || !data.ok()) return 1;
  for (int step = 1; step <= 5 || scenario == "endless"; ++step) {
    if (step == 6 && communicator.rank() == 0) std::cout << "under way" << std::endl;
    communicator.SetPosition({step, 12});
    if (step == 3 && communicator.rank() == communicator.size() - 1) Misbehave(scenario, communicator);
    communicator.SetPosition({step, 17});
    auto pending = communicator.AllReduce(**group, *data, 100, ElementType::kF32, ReduceOp::kSum);
    absl::Status status =
        pending.ok() ? (*pending)->Wait(Clock::now() + std::chrono::seconds(2)) : pending.status();
    if (!status.ok()) {
      // One write, so that lines of ranks do not mix.
      std::cerr << ("FAILED " + status.ToString() + "\n") << std::flush;
      communicator.Abort(status);
    }
  }
  std::cout << ("rank " + std::to_string(communicator.rank()) + " finished over " + communicator.name() +
                "\n")
            << std::flush;
  return 0;
}

}  // namespace
}  // namespace pdc::comm

int main(int argc, char** argv) { return argc == 3 ? pdc::comm::Main(argv[1], argv[2]) : 2; }
