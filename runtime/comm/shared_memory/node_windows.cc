#include "runtime/comm/shared_memory/node_windows.h"

#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/memory.h"
#include "runtime/base/status.h"

namespace pdc::comm {

absl::StatusOr<std::unique_ptr<NodeWindows>> NodeWindows::Create(std::shared_ptr<MpiJob> job) {
  int index = 0;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Comm_rank(job->node(), &index), "MPI_Comm_rank"));
  const int ranks = static_cast<int>(job->node_ranks().size());
  std::unique_ptr<NodeWindows> created(new NodeWindows(std::move(job), index));
  PDC_ASSIGN_OR_RETURN(created->control_,
                       created->AllocateWindow(index == 0 ? ControlBlock::Bytes(ranks) : 0));
  if (index == 0) std::memset(created->control_.base[0], 0, created->control_.bytes);
  const CallWatch watch = created->job_->Watch("sharing memory");
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Barrier(created->job_->node()), "MPI_Barrier"));
  return created;
}

ControlBlock NodeWindows::control_block() const {
  return ControlBlock(control_.base[0], static_cast<int>(job_->node_ranks().size()));
}

absl::StatusOr<NodeWindows::Window> NodeWindows::AllocateWindow(size_t bytes) const {
  const CallWatch watch = job_->Watch("allocating shared memory");
  Window result;
  result.bytes = bytes;
  MPI_Info info;
  PDC_RETURN_IF_ERROR(StatusOfMpi(MPI_Info_create(&info), "MPI_Info_create"));
  // Every rank's part begins on a page of its own.
  MPI_Info_set(info, "alloc_shared_noncontig", "true");
  void* mine = nullptr;
  const auto padded = static_cast<MPI_Aint>(bytes + kPageBytes);
  const int code = MPI_Win_allocate_shared(padded, 1, info, job_->node(), &mine, &result.window);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) {
    const absl::Status status = StatusOfMpi(code, "MPI_Win_allocate_shared");
    return absl::ResourceExhaustedError("cannot allocate " + std::to_string(bytes) +
                                        " bytes of shared memory on rank " + std::to_string(job_->rank()) +
                                        ": " + std::string(status.message()) +
                                        "; free or enlarge /dev/shm, name another folder with mpiexec --mca "
                                        "osc_sm_backing_directory FOLDER, or run "
                                        "with --communicator=mpi");
  }
  const int ranks = static_cast<int>(job_->node_ranks().size());
  result.base.resize(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    MPI_Aint size = 0;
    int unit = 0;
    void* base = nullptr;
    PDC_RETURN_IF_ERROR(
        StatusOfMpi(MPI_Win_shared_query(result.window, rank, &size, &unit, &base), "MPI_Win_shared_query"));
    // Processes map the window at different addresses, but at the same place within a page: all round up
    // alike.
    result.base[rank] = reinterpret_cast<std::byte*>(AlignUp(reinterpret_cast<uintptr_t>(base), kPageBytes));
  }
  return result;
}

absl::StatusOr<void*> NodeWindows::Allocate(size_t bytes) {
  PDC_ASSIGN_OR_RETURN(Window region, AllocateWindow(bytes));
  std::byte* mine = region.base[index_];
  TouchOnHugePages(mine, bytes);
  std::lock_guard<std::mutex> lock(regions_mutex_);
  regions_.push_back(std::move(region));
  return static_cast<void*>(mine);
}

void NodeWindows::Free() {
  const CallWatch watch = job_->Watch("freeing shared memory");
  for (Window& region : regions_) MPI_Win_free(&region.window);
  MPI_Win_free(&control_.window);
}

absl::StatusOr<Location> NodeWindows::Locate(const void* memory, size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(memory);
  std::lock_guard<std::mutex> lock(regions_mutex_);
  for (size_t i = 0; i < regions_.size(); ++i) {
    const std::byte* base = regions_[i].base[index_];
    if (begin >= base && begin + bytes <= base + regions_[i].bytes) {
      return Location{static_cast<int32_t>(i), static_cast<uint64_t>(begin - base)};
    }
  }
  return absl::NotFoundError("not in shared memory");
}

std::byte* NodeWindows::Resolve(int index, const Location& location) {
  std::lock_guard<std::mutex> lock(regions_mutex_);
  return regions_[location.region].base[index] + location.offset;
}

}  // namespace pdc::comm
