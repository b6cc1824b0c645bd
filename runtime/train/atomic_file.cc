#include "runtime/train/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/train/data/mapped_file.h"

namespace pdc::train {
namespace {

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where links lead; the path itself where they lead nowhere.
std::string FollowLinks(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string result = resolved;
  free(resolved);
  return result;
}

// A rename would put a regular file in the place of these.
bool IsDeviceOrPipe(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

absl::Status CheckWritable(const std::string& path) {
  if (IsFolder(path)) return FileError(EISDIR, "write", path);
  if (IsDeviceOrPipe(path)) {
    return access(path.c_str(), W_OK) == 0 ? absl::OkStatus() : FileError(errno, "write", path);
  }
  if (access(FolderOf(FollowLinks(path)).c_str(), W_OK) == 0) return absl::OkStatus();
  return FileError(errno, "write into the folder of", path);
}

absl::StatusOr<int> OpenForWriting(const std::string& path, bool append) {
  // Opening a pipe that nobody reads would wait for ever.
  const int fd =
      open(path.c_str(), O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC) | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0 && errno == ENXIO && IsDeviceOrPipe(path)) {
    return absl::UnavailableError(absl::StrCat("cannot write '", path, "': nobody reads this pipe"));
  }
  if (fd < 0) return FileError(errno, "write", path);
  // A reader that is slower than this process is waited for.
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::Create(const std::string& name) {
  if (IsDeviceOrPipe(name)) {
    PDC_ASSIGN_OR_RETURN(const int fd, OpenForWriting(name, /*append=*/false));
    return std::unique_ptr<AtomicFile>(new AtomicFile(name, "", fd));
  }
  if (IsFolder(name)) return FileError(EISDIR, "write", name);
  const std::string path = FollowLinks(name);
  std::string temporary = absl::StrCat(path, ".tmp-", getpid());
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return FileError(errno, "create", temporary);
  return std::unique_ptr<AtomicFile>(new AtomicFile(path, std::move(temporary), fd));
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::Status AtomicFile::Write(const void* data, size_t bytes) {
  constexpr size_t kMaximumWrite = size_t{1} << 30;
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(fd_, next, std::min(bytes, kMaximumWrite));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, "write", path_);
    next += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::WriteAt(size_t offset, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = pwrite(fd_, next, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(errno, "write", path_);
    next += written;
    offset += static_cast<size_t>(written);
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

absl::Status AtomicFile::Commit() {
  if (temporary_.empty()) {
    const int fd = fd_;
    fd_ = -1;
    return close(fd) == 0 ? absl::OkStatus() : FileError(errno, "write", path_);
  }
  if (fsync(fd_) != 0) return FileError(errno, "flush", path_);
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    unlink(temporary_.c_str());
    return FileError(error, "write", path_);
  }
  return SyncFolder(FolderOf(path_));
}

absl::Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(errno, "open the folder", path);
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  // Some file systems cannot flush a folder and say EINVAL; their renames last anyway or not at all.
  if (result != 0 && error != EINVAL) return FileError(error, "flush the folder", path);
  return absl::OkStatus();
}

}  // namespace pdc::train
