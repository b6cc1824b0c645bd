// Compares the all_reduce of the shared-memory communicator with MPI_Allreduce, in one job and interleaved,
// because the speed of a machine changes from minute to minute:
//
//   mpiexec -n 2 bazel-bin/tools/bench/all_reduce [ROUNDS]
//
// prints for each size the median time of both in milliseconds, their ratio, and the share of the memory
// traffic bound: bytes that an all_reduce must read and write (2 x ranks x size) per second.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/comm/mpi/mpi_job.h"
#include "runtime/comm/shared_memory/shared_memory_communicator.h"

namespace pdc::comm {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

absl::Status Run(int rounds) {
  PDC_ASSIGN_OR_RETURN(std::shared_ptr<MpiJob> job, MpiJob::Get());
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> communicator, CreateSharedMemoryCommunicator(job));
  std::vector<int> all;
  for (int i = 0; i < job->size(); ++i) all.push_back(i);
  PDC_ASSIGN_OR_RETURN(std::unique_ptr<Group> group, communicator->CreateGroup(all));
  constexpr size_t kSizes[] = {64 << 10, 1 << 20, 25 << 20};
  PDC_ASSIGN_OR_RETURN(void* memory, communicator->AllocateShared(kSizes[2]));
  auto* data = static_cast<float*>(memory);
  const auto later = [] { return Clock::now() + std::chrono::seconds(60); };

  if (job->rank() == 0) {
    std::printf("%d ranks, f32 sum, median of %d rounds\n", job->size(), rounds);
    std::printf("%10s %16s %16s %8s %12s\n", "bytes", "shared_memory", "MPI_Allreduce", "ratio", "GB/s");
  }
  for (size_t bytes : kSizes) {
    const auto count = static_cast<int64_t>(bytes / sizeof(float));
    std::vector<double> ours;
    std::vector<double> theirs;
    for (int round = 0; round < rounds + 2; ++round) {
      PDC_RETURN_IF_ERROR(communicator->Barrier(later()));
      Clock::time_point begin = Clock::now();
      PDC_ASSIGN_OR_RETURN(std::unique_ptr<Pending> pending,
                           communicator->AllReduce(*group, data, count, ElementType::kF32, ReduceOp::kSum));
      PDC_RETURN_IF_ERROR(pending->Wait(later()));
      const double our_time = Milliseconds(Clock::now() - begin).count();

      PDC_RETURN_IF_ERROR(communicator->Barrier(later()));
      begin = Clock::now();
      PDC_RETURN_IF_ERROR(StatusOfMpi(
          MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(count), MPI_FLOAT, MPI_SUM, job->world()),
          "MPI_Allreduce"));
      const double their_time = Milliseconds(Clock::now() - begin).count();
      if (round < 2) continue;  // buffers and connections are made in the first rounds
      ours.push_back(our_time);
      theirs.push_back(their_time);
    }
    if (job->rank() != 0) continue;
    const double our_time = Median(ours);
    const double their_time = Median(theirs);
    std::printf("%10zu %13.3f ms %13.3f ms %8.2f %12.1f\n", bytes, our_time, their_time,
                their_time / our_time, 2e-6 * job->size() * static_cast<double>(bytes) / our_time);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace pdc::comm

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 21;
  if (rounds < 1) {
    std::cerr << "usage: mpiexec -n RANKS all_reduce [ROUNDS]" << std::endl;
    return 2;
  }
  const absl::Status status = pdc::comm::Run(rounds);
  if (status.ok()) return 0;
  std::cerr << status << std::endl;
  return 1;
}
