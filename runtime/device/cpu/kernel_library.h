// A shared object loaded from memory.
#ifndef PDC_RUNTIME_DEVICE_CPU_KERNEL_LIBRARY_H_
#define PDC_RUNTIME_DEVICE_CPU_KERNEL_LIBRARY_H_

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/device/device.h"

namespace pdc::device {

class KernelLibrary {
 public:
  // INVALID_ARGUMENT with the dynamic linker's message when the image is no shared object it can load.
  static absl::StatusOr<KernelLibrary> Load(const std::byte* image, size_t bytes);

  KernelLibrary() = default;
  KernelLibrary(KernelLibrary&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  KernelLibrary& operator=(KernelLibrary&& other) noexcept;
  ~KernelLibrary();

  // NOT_FOUND names the symbol.
  absl::StatusOr<KernelFunction> Find(std::string_view symbol) const;

 private:
  void* handle_ = nullptr;
};

}  // namespace pdc::device

#endif  // PDC_RUNTIME_DEVICE_CPU_KERNEL_LIBRARY_H_
