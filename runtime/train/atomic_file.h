// A file that appears under its name only when it is whole: written beside it, flushed to the disk, then
// renamed. A link stays one: the file that it leads to is replaced. What is no regular file, such as /dev/null or a
// pipe, must stay what it is, and is written as it comes.
#ifndef PDC_RUNTIME_TRAIN_ATOMIC_FILE_H_
#define PDC_RUNTIME_TRAIN_ATOMIC_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace pdc::train {

class AtomicFile {
 public:
  // Opens "<path>.tmp-<process>" in the same folder; a device or pipe itself, without waiting for a reader.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> Create(const std::string& path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  // Without Commit() no file stays behind.
  ~AtomicFile();

  // Errors name the file; a full disk is RESOURCE_EXHAUSTED or whatever errno says.
  absl::Status Write(const void* data, size_t bytes);
  // Overwrites bytes that were written before.
  absl::Status WriteAt(size_t offset, const void* data, size_t bytes);
  absl::Status Commit();

 private:
  AtomicFile(std::string path, std::string temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}

  std::string path_;
  std::string temporary_;  // empty: `path_` itself is written
  int fd_;
};

// Whether AtomicFile could write `path`: into its folder, or into the device or pipe that it is.
absl::Status CheckWritable(const std::string& path);

// Opens a file for writing, appending or from its beginning, without waiting for the reader of a pipe. The
// descriptor, or an error that names the file.
absl::StatusOr<int> OpenForWriting(const std::string& path, bool append);

// Makes renames and new files in a folder last over a crash.
absl::Status SyncFolder(const std::string& path);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_ATOMIC_FILE_H_
