// One run at a time writes into a folder of checkpoints.
#ifndef PDC_RUNTIME_TRAIN_CHECKPOINT_FOLDER_LOCK_H_
#define PDC_RUNTIME_TRAIN_CHECKPOINT_FOLDER_LOCK_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace pdc::train {

// An advisory lock on the folder itself (flock), which leaves no file behind and ends with the process, however that
// ends. File systems that cannot lock folders (NFS) give a lock that holds nobody off.
class FolderLock {
 public:
  // FAILED_PRECONDITION when another process has the folder.
  static absl::StatusOr<FolderLock> Take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_CHECKPOINT_FOLDER_LOCK_H_
