#include "runtime/train/data/prefetch.h"

#include <utility>

namespace pdc::train {

Prefetcher::Prefetcher(FillFunction fill, const std::vector<size_t>& field_bytes, int64_t first_batch,
                       int depth)
    : fill_(std::move(fill)), slots_(depth + 1) {  // one more for the batch that is in use
  for (size_t i = 0; i < slots_.size(); ++i) {
    for (size_t bytes : field_bytes) slots_[i].fields.emplace_back(bytes);
    free_.push_back(i);
  }
  thread_ = std::thread([this, first_batch] { Work(first_batch); });
}

Prefetcher::~Prefetcher() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Prefetcher::Work(int64_t first_batch) {
  for (int64_t batch = first_batch;; ++batch) {
    size_t slot;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || !free_.empty(); });
      if (stop_) return;
      slot = free_.front();
      free_.pop_front();
    }
    std::vector<std::byte*> fields;
    for (std::vector<std::byte>& field : slots_[slot].fields) fields.push_back(field.data());
    slots_[slot].status = fill_(batch, fields);
    const bool failed = !slots_[slot].status.ok();
    {
      std::lock_guard lock(mutex_);
      filled_.push_back(slot);
    }
    changed_.notify_all();
    if (failed) return;
  }
}

absl::StatusOr<std::vector<const std::byte*>> Prefetcher::Next() {
  if (!failed_.ok()) return failed_;
  {
    std::unique_lock lock(mutex_);
    if (in_use_ >= 0) free_.push_back(static_cast<size_t>(in_use_));
    changed_.notify_all();
    changed_.wait(lock, [this] { return !filled_.empty(); });
    in_use_ = static_cast<int64_t>(filled_.front());
    filled_.pop_front();
  }
  const Slot& slot = slots_[in_use_];
  if (!slot.status.ok()) {
    failed_ = slot.status;
    return failed_;
  }
  std::vector<const std::byte*> fields;
  for (const std::vector<std::byte>& field : slot.fields) fields.push_back(field.data());
  return fields;
}

}  // namespace pdc::train
