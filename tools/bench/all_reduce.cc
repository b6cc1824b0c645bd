// Compares the all_reduce of communicators with each other and with MPI_Allreduce, in one job and interleaved,
// because the speed of a machine changes from minute to minute:
//
//   mpiexec -n 2 bazel-bin/tools/bench/all_reduce [ROUNDS]
//   tools/testbed/testbed.sh with --hosts=2 --rate=1gbit -- tools/testbed/testbed.sh run --per-host=2 \
//       $PWD/bazel-bin/tools/bench/all_reduce [ROUNDS]
//
// prints for each size the median time of each in milliseconds: of the one that executables choose (shared_memory on
// one node, hierarchical on several), of the flat exchange of messages, and of MPI_Allreduce; then how much faster
// the first is than the two others, and the rate at which it moves the bytes that an all_reduce must read and write
// (2 x ranks x size).
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/job.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// One way to reduce `data` over all ranks.
using AllReduce = std::function<absl::Status(int64_t count)>;

absl::StatusOr<AllReduce> Of(Communicator &communicator, size_t bytes) {
  std::vector<int> all;
  for (int i = 0; i < communicator.size(); ++i)
    all.push_back(i);
  PDC_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, communicator.CreateGroup(all));
  PDC_ASSIGN_OR_RETURN(void *data, communicator.AllocateShared(bytes));
  return [&communicator, group, data](int64_t count) -> absl::Status {
    PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> pending,
                         communicator.AllReduce(*group, data, count, ElementType::kF32, ReduceOp::kSum));
    return pending->Wait(Clock::now() + std::chrono::seconds(60));
  };
}

absl::Status Run(int rounds) {
  constexpr size_t kSizes[] = {64 << 10, 1 << 20, 25 << 20};
  PDC_ASSIGN_OR_RETURN(std::shared_ptr<MpiJob> job, MpiJob::Get());
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> chosen, CreateForJob());
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> flat, CreateForJob({.communicator = "mpi"}));
  PDC_ASSIGN_OR_RETURN(AllReduce chosen_all_reduce, Of(*chosen, kSizes[2]));
  PDC_ASSIGN_OR_RETURN(AllReduce flat_all_reduce, Of(*flat, kSizes[2]));
  std::vector<float> data(kSizes[2] / sizeof(float));
  const std::vector<AllReduce> ways = {chosen_all_reduce, flat_all_reduce, [&](int64_t count) {
                                         return StatusOfMpi(MPI_Allreduce(MPI_IN_PLACE, data.data(),
                                                                          static_cast<int>(count), MPI_FLOAT,
                                                                          MPI_SUM, job->world()),
                                                            "MPI_Allreduce");
                                       }};

  if (job->rank() == 0) {
    std::printf("%d ranks, f32 sum, median of %d rounds\n", job->size(), rounds);
    std::printf("%10s %16s %16s %16s %9s %9s %10s\n", "bytes", chosen->name().c_str(), flat->name().c_str(),
                "MPI_Allreduce", "to flat", "to MPI", "GB/s");
  }
  for (size_t bytes : kSizes) {
    std::vector<std::vector<double>> times(ways.size());
    for (int round = 0; round < rounds + 2; ++round) {
      for (size_t way = 0; way < ways.size(); ++way) {
        PDC_RETURN_IF_ERROR(chosen->Barrier(Clock::now() + std::chrono::seconds(60)));
        const Clock::time_point begin = Clock::now();
        PDC_RETURN_IF_ERROR(ways[way](static_cast<int64_t>(bytes / sizeof(float))));
        // Buffers and connections are made in the first rounds.
        if (round >= 2)
          times[way].push_back(Milliseconds(Clock::now() - begin).count());
      }
    }
    if (job->rank() != 0)
      continue;
    const double ours = Median(times[0]), flat_time = Median(times[1]), mpi = Median(times[2]);
    std::printf("%10zu %13.3f ms %13.3f ms %13.3f ms %9.2f %9.2f %10.2f\n", bytes, ours, flat_time, mpi,
                flat_time / ours, mpi / ours, 2e-6 * job->size() * static_cast<double>(bytes) / ours);
  }
  return absl::OkStatus();
}

} // namespace
} // namespace pdc::comm

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  if (rounds < 1) {
    std::cerr << "usage: mpiexec -n RANKS all_reduce [ROUNDS]" << std::endl;
    return 2;
  }
  const absl::Status status = pdc::comm::Run(rounds);
  if (status.ok())
    return 0;
  std::cerr << status << std::endl;
  return 1;
}
