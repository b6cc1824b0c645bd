// Fills the next batches on a thread of its own while a step runs.
#ifndef PDC_RUNTIME_TRAIN_DATA_PREFETCH_H_
#define PDC_RUNTIME_TRAIN_DATA_PREFETCH_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::train {

class Prefetcher {
 public:
  using FillFunction = std::function<absl::Status(int64_t batch, const std::vector<std::byte*>& fields)>;

  // Calls fill(batch, ...) for first_batch, first_batch + 1, ... on one thread, at most `depth` batches
  // ahead, each into staging memory of the stated sizes. All memory is allocated here.
  Prefetcher(FillFunction fill, const std::vector<size_t>& field_bytes, int64_t first_batch, int depth = 2);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  // Waits for a fill that is under way.
  ~Prefetcher();

  // The fields of the next batch, valid until the next call; waits until they are filled. The error of a fill
  // comes here when its turn comes, and again at every later call.
  absl::StatusOr<std::vector<const std::byte*>> Next();

 private:
  struct Slot {
    std::vector<std::vector<std::byte>> fields;
    absl::Status status;
  };

  void Work(int64_t first_batch);

  FillFunction fill_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<size_t> free_;    // guarded by mutex_
  std::deque<size_t> filled_;  // guarded by mutex_
  int64_t in_use_ = -1;        // the slot that Next() gave out last
  absl::Status failed_;
  bool stop_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_PREFETCH_H_
