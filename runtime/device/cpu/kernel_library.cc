#include "runtime/device/cpu/kernel_library.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace pdc::device {
namespace {

absl::Status WriteAll(int file, const std::byte* data, size_t bytes) {
  while (bytes > 0) {
    ssize_t written = write(file, data, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, "cannot copy the kernel library into memory");
    data += written;
    bytes -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<KernelLibrary> KernelLibrary::Load(const std::byte* image, size_t bytes) {
  // The dynamic linker loads files only; this one has no name in any folder and goes with the process.
  int file = memfd_create("pdc_kernels", MFD_CLOEXEC);
  if (file < 0) return ErrnoStatus(errno, "cannot make a file in memory for the kernel library");
  absl::Status status = WriteAll(file, image, bytes);
  KernelLibrary library;
  if (status.ok()) {
    library.handle_ = dlopen(absl::StrCat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ == nullptr) {
      const char* why = dlerror();
      status = absl::InvalidArgumentError(
          absl::StrCat("cannot load the kernel library: ", why == nullptr ? "unknown reason" : why));
    }
  }
  close(file);
  if (!status.ok()) return status;
  return library;
}

KernelLibrary& KernelLibrary::operator=(KernelLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

KernelLibrary::~KernelLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

absl::StatusOr<KernelFunction> KernelLibrary::Find(std::string_view symbol) const {
  std::string name(symbol);
  void* address = handle_ == nullptr ? nullptr : dlsym(handle_, name.c_str());
  if (address != nullptr) return reinterpret_cast<KernelFunction>(address);
  return absl::NotFoundError(
      handle_ == nullptr ? absl::StrCat("kernel '", name, "' is called, but no kernel library is loaded")
                         : absl::StrCat("the kernel library has no kernel '", name, "'"));
}

}  // namespace pdc::device
