#include "runtime/train/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace pdc::train {
namespace {

// For OnBusError(), which can take no lock; files beyond these are not named.
std::atomic<const MappedFile*> mapped_files[64];

char bus_error_speaker[256];

void Print(const char* text) {
  const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  static_cast<void>(written);  // there is nobody left to tell
}

// Only what may be called in a signal handler.
void OnBusError(int signal, siginfo_t* info, void*) {
  const auto* address = static_cast<const std::byte*>(info->si_addr);
  for (const std::atomic<const MappedFile*>& slot : mapped_files) {
    const MappedFile* file = slot.load();
    if (file == nullptr || address < file->data() || address >= file->data() + file->size()) continue;
    Print(bus_error_speaker);
    Print(": '");
    Print(file->path().c_str());
    Print("' became shorter while it was read, or its disk failed\n");
    _exit(1);
  }
  // As without this handler.
  ::signal(signal, SIG_DFL);
  raise(signal);
}

}  // namespace

void ReportLostFiles(const std::string& speaker) {
  std::strncpy(bus_error_speaker, speaker.c_str(), sizeof(bus_error_speaker) - 1);
  struct sigaction action = {};
  action.sa_sigaction = OnBusError;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

absl::Status FileError(int error, const std::string& action, const std::string& path) {
  return ErrnoStatus(error, absl::StrCat("cannot ", action, " '", path, "'"));
}

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  // A pipe would wait for its writer before it could be refused.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError(errno, "open", path);
  struct stat info;
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return FileError(error, "examine", path);
  }
  if (!S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a regular file"));
  }
  const size_t size = static_cast<size_t>(info.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      close(fd);
      return FileError(error, "map", path);
    }
  }
  close(fd);
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::MappedFile(std::string path, const std::byte* data, size_t size)
    : path_(std::move(path)), data_(data), size_(size) {
  for (std::atomic<const MappedFile*>& slot : mapped_files) {
    const MappedFile* free = nullptr;
    if (slot.compare_exchange_strong(free, this)) return;
  }
}

MappedFile::~MappedFile() {
  for (std::atomic<const MappedFile*>& slot : mapped_files) {
    const MappedFile* self = this;
    if (slot.compare_exchange_strong(self, nullptr)) break;
  }
  if (size_ > 0) munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace pdc::train
