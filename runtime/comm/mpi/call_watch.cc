#include "runtime/comm/mpi/call_watch.h"

#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "runtime/base/logging.h"
#include "runtime/base/status.h"

namespace pdc::comm {

CallWatch::CallWatch(int rank, std::string doing, std::chrono::nanoseconds limit)
    : thread_([this, rank, doing = std::move(doing), limit] { Watch(rank, doing, limit); }) {}

CallWatch::~CallWatch() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void CallWatch::Watch(int rank, const std::string& doing, std::chrono::nanoseconds limit) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (changed_.wait_for(lock, limit, [this] { return done_; })) return;
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.1f", std::chrono::duration<double>(limit).count());
  const absl::Status why = absl::DeadlineExceededError(doing + ", which all ranks do together, timed out after " + seconds +
                                                       " s: another rank has stopped, ended or is cut off");
  PDC_LOG(Error) << "the job ends: " << AtPlace(why, {.rank = rank}).ToString();
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  // The process manager ends the others when this process exits.
  if (initialized != 0 && finalized == 0) MPI_Abort(MPI_COMM_WORLD, 1);
  _exit(1);
}

}  // namespace pdc::comm
