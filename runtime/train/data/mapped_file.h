// A file mapped into memory for reading.
#ifndef PDC_RUNTIME_TRAIN_DATA_MAPPED_FILE_H_
#define PDC_RUNTIME_TRAIN_DATA_MAPPED_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace pdc::train {

class MappedFile {
 public:
  // NOT_FOUND, PERMISSION_DENIED and so on with the path; INVALID_ARGUMENT when it is not a regular file. An
  // empty file has size 0.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  MappedFile(std::string path, const std::byte* data, size_t size);

  std::string path_;
  const std::byte* data_;
  size_t size_;
};

// Reading a mapped file that became shorter, or that a disk cannot give, is the signal SIGBUS. From this call on it ends
// the process with one line, "<speaker>: '<path>' became shorter while it was read", and exit code 1. Call it once,
// before other threads run.
void ReportLostFiles(const std::string& speaker);

// The Status of a failed system call: "cannot <action> '<path>': <what errno says>".
absl::Status FileError(int error, const std::string& action, const std::string& path);

}  // namespace pdc::train

#endif  // PDC_RUNTIME_TRAIN_DATA_MAPPED_FILE_H_
