// A deadline for MPI calls that have none.
#ifndef PDC_RUNTIME_COMM_MPI_CALL_WATCH_H_
#define PDC_RUNTIME_COMM_MPI_CALL_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace pdc::comm {

// Ranks start and end MPI, and make communicators and windows, in calls that return when the last rank has made them:
// never, if one has stopped or is gone. Where a watch lives for longer than `limit`, it says so and ends the job.
class CallWatch {
 public:
  // `doing` as in "starting MPI"; `rank` -1: not known.
  CallWatch(int rank, std::string doing, std::chrono::nanoseconds limit);
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

 private:
  void Watch(int rank, const std::string& doing, std::chrono::nanoseconds limit);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace pdc::comm

#endif  // PDC_RUNTIME_COMM_MPI_CALL_WATCH_H_
