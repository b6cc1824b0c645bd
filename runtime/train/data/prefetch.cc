#include "runtime/train/data/prefetch.h"

#include <utility>

namespace pdc::train {

Prefetcher::Prefetcher(FillFunction fill, const std::vector<size_t>& part_bytes, int64_t first_batch, int depth)
    : fill_(std::move(fill)),
      first_batch_(first_batch),
      slots_(depth + 1),  // one more for the batch that is in use
      in_use_(first_batch - 1),
      filling_(first_batch) {
  for (auto& parts : slots_) {
    for (size_t bytes : part_bytes) parts.emplace_back(bytes);
  }
  thread_ = std::thread([this] { Work(); });
}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::Work() {
  const int64_t ahead = static_cast<int64_t>(slots_.size()) - 1;
  const size_t parts = slots_.front().size();
  for (int64_t batch = first_batch_;; ++batch) {
    {
      std::unique_lock lock(mutex_);
      filling_ = batch;
      filled_parts_ = 0;
      // The batch in use and those before this one take the other slots.
      changed_.wait(lock, [&] { return stop_ || batch <= in_use_ + ahead; });
      if (stop_) return;
    }
    for (size_t part = 0; part < parts; ++part) {
      absl::Status status = fill_(batch, part, SlotOf(batch)[part].data());
      {
        std::lock_guard lock(mutex_);
        if (stop_) return;
        failed_ = status;
        filled_parts_ += status.ok();
      }
      changed_.notify_all();
      if (!status.ok()) return;
    }
  }
}

void Prefetcher::Next() {
  {
    std::lock_guard lock(mutex_);
    ++in_use_;
  }
  changed_.notify_all();
}

absl::StatusOr<const std::byte*> Prefetcher::Wait(size_t part) {
  std::unique_lock lock(mutex_);
  const auto is_filled = [&] { return filling_ > in_use_ || (filling_ == in_use_ && filled_parts_ > part); };
  changed_.wait(lock, [&] { return is_filled() || !failed_.ok(); });
  if (!is_filled()) return failed_;
  return SlotOf(in_use_)[part].data();
}

}  // namespace pdc::train
