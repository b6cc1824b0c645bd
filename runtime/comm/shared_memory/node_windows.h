// Memory that the processes of a node share, in MPI windows.
#ifndef PDC_RUNTIME_COMM_SHARED_MEMORY_NODE_WINDOWS_H_
#define PDC_RUNTIME_COMM_SHARED_MEMORY_NODE_WINDOWS_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/comm/intranode/control_block.h"
#include "runtime/comm/intranode/node_transport.h"
#include "runtime/comm/mpi/mpi_job.h"

namespace pdc::comm {

// How long the shared-memory communicators wait between Abort()'s notice to peers and the end of their processes:
// time for the rank that failed to say why, and for its followers to leave that to it.
inline constexpr std::chrono::milliseconds kAbortGrace(200);
inline constexpr std::chrono::milliseconds kFollowerGrace(3000);

// Ranks are counted within the node.
class NodeWindows final : public NodeMemory {
 public:
  // Collective over the ranks of the node, as is Allocate(); RESOURCE_EXHAUSTED when the system's folder for
  // shared memory is full.
  static absl::StatusOr<std::unique_ptr<NodeWindows>> Create(std::shared_ptr<MpiJob> job);

  // Zeroed when this is called.
  ControlBlock control_block() const;
  int index() const { return index_; }

  absl::StatusOr<void*> Allocate(size_t bytes);
  // Collective over the ranks of the node; without it the memory goes with the process.
  void Free();

  absl::StatusOr<Location> Locate(const void* memory, size_t bytes) override;
  std::byte* Resolve(int index, const Location& location) override;

 private:
  // Memory of all ranks in one window.
  struct Window {
    MPI_Win window = MPI_WIN_NULL;
    std::vector<std::byte*> base;  // of each rank's part, in this process, aligned to a page
    size_t bytes = 0;              // of this rank's part
  };

  NodeWindows(std::shared_ptr<MpiJob> job, int index) : job_(std::move(job)), index_(index) {}
  absl::StatusOr<Window> AllocateWindow(size_t bytes) const;

  const std::shared_ptr<MpiJob> job_;
  const int index_;
  Window control_;
  std::mutex regions_mutex_;
  std::vector<Window> regions_;  // the same on all ranks
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_SHARED_MEMORY_NODE_WINDOWS_H_
