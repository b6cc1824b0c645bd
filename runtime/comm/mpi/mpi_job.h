// MPI of this process: started once, ended once, and its error codes as Status.
#ifndef PDC_RUNTIME_COMM_MPI_MPI_JOB_H_
#define PDC_RUNTIME_COMM_MPI_MPI_JOB_H_

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/comm/mpi/call_watch.h"

namespace pdc::comm {

// OK for MPI_SUCCESS, else INTERNAL with "`what`: " and MPI's own words.
absl::Status StatusOfMpi(int code, const std::string& what);

// The job that mpiexec started. MPI is finalized when the last reference goes, unless the job is broken: then
// that could wait for ever, and the process manager ends the other ranks when this one exits.
class MpiJob {
 public:
  // The one job of this process; initializes MPI (with MPI_THREAD_MULTIPLE: communication threads call it) on
  // the first call. Collective over all ranks then, which wait for each other for `timeout` at most, then and in what
  // they set up and end together later.
  static absl::StatusOr<std::shared_ptr<MpiJob>> Get(std::chrono::nanoseconds timeout = std::chrono::seconds(60));
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  // All ranks; errors return.
  MPI_Comm world() const { return world_; }
  // The ranks of this node, in the order of node_ranks(). Ranks of a node can share memory. With
  // PDC_RANKS_PER_NODE=N in its environment, a job behaves as if each N ranks of a machine had a node of their
  // own.
  MPI_Comm node() const { return node_; }
  const std::vector<int>& node_ranks() const { return node_ranks_; }
  // The node of each rank; nodes are counted from 0 in the order of their first ranks.
  const std::vector<int>& nodes() const { return nodes_; }
  bool one_node() const { return node_count_ == 1; }
  // As many ranks as nodes.
  bool one_rank_per_node() const { return node_count_ == size_; }

  std::chrono::nanoseconds setup_timeout() const { return setup_timeout_; }
  // Ends the job when what MPI does without a deadline takes longer than setup_timeout(). `doing` as in CallWatch.
  CallWatch Watch(const std::string& doing) const { return CallWatch(rank_, doing, setup_timeout_); }

  void MarkBroken() { broken_.store(true); }
  // Writes the reason to standard error.
  static void Report(const absl::Status& why);
  // Ends all processes of the job, this one included.
  [[noreturn]] static void End();

 private:
  explicit MpiJob(std::chrono::nanoseconds timeout);
  absl::Status Initialize();
  absl::Status FindNodes();

  const std::chrono::nanoseconds setup_timeout_;
  int rank_ = 0;
  int size_ = 1;
  int node_count_ = 1;
  std::vector<int> nodes_;
  std::vector<int> node_ranks_;
  MPI_Comm world_ = MPI_COMM_NULL;
  MPI_Comm node_ = MPI_COMM_NULL;
  std::atomic<bool> broken_ = false;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_MPI_JOB_H_
