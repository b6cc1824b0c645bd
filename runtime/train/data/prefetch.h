// Fills the next batches on a thread of its own while a step runs.
#ifndef PDC_RUNTIME_TRAIN_DATA_PREFETCH_H_
#define PDC_RUNTIME_TRAIN_DATA_PREFETCH_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::train {

class Prefetcher {
 public:
  using FillFunction = std::function<absl::Status(int64_t batch, size_t part, std::byte* destination)>;

  // Calls fill(batch, part, ...) for all parts, in order, of first_batch, first_batch + 1, ... on one thread, at most `depth`
  // batches ahead, each into staging memory of the stated sizes. All memory is allocated here.
  Prefetcher(FillFunction fill, const std::vector<size_t>& part_bytes, int64_t first_batch, int depth = 2);
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;
  // Waits for a fill that is under way.
  ~Prefetcher();

  // Goes on to the next batch, which need not be filled yet. Nothing of the one before is valid any more.
  void Next();

  // A part of the batch that Next() went on to, valid until the next Next(); waits until it is filled. The error of a fill
  // comes here when its turn comes, and again at every later call.
  absl::StatusOr<const std::byte*> Wait(size_t part);

 private:
  void Work();
  std::vector<std::vector<std::byte>>& SlotOf(int64_t batch) {
    return slots_[static_cast<size_t>(batch - first_batch_) % slots_.size()];
  }

  FillFunction fill_;
  const int64_t first_batch_;
  std::vector<std::vector<std::vector<std::byte>>> slots_;  // the parts of a batch, for the batches that are in flight
  std::mutex mutex_;
  std::condition_variable changed_;
  // All guarded by mutex_.
  int64_t in_use_;           // the batch that Next() went on to
  int64_t filling_;          // the batch that is being filled
  size_t filled_parts_ = 0;  // of it
  absl::Status failed_;      // of the next part of it
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_PREFETCH_H_
