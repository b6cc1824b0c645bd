#include "runtime/base/memory.h"

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "runtime/base/status.h"

namespace pdc {

void TouchOnHugePages(void* data, size_t bytes) {
  if (bytes == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  // Only whole pages can be advised; the result is advice, too, so that a refusal does not matter.
  const uintptr_t first = AlignUp(begin, kPageBytes);
  const uintptr_t last = (begin + bytes) & ~uintptr_t{kPageBytes - 1};
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  std::memset(data, 0, bytes);
}

absl::StatusOr<HugeMemory> HugeMemory::Allocate(size_t bytes) {
  HugeMemory memory;
  if (bytes == 0) return memory;
  auto exhausted = [bytes](const std::string& why) {
    return absl::ResourceExhaustedError("cannot allocate " + std::to_string(bytes) + " bytes: " + why);
  };
  // Untouched memory is promised freely by Linux, and the process killed when it is used: so ask first.
  struct sysinfo system;
  if (sysinfo(&system) == 0 && bytes > uint64_t{system.totalram} * system.mem_unit)
    return exhausted("the machine has " + std::to_string(uint64_t{system.totalram} * system.mem_unit) +
                     " bytes");
  const size_t alignment = bytes >= kHugePageBytes ? kHugePageBytes : kPageBytes;
  memory.mapping_bytes_ = AlignUp(bytes, kPageBytes) + alignment - kPageBytes;
  void* mapping =
      mmap(nullptr, memory.mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return exhausted(std::strerror(errno));
  memory.mapping_ = mapping;
  memory.bytes_ = bytes;
  memory.data_ = reinterpret_cast<std::byte*>(AlignUp(reinterpret_cast<uintptr_t>(mapping), alignment));
  TouchOnHugePages(memory.data_, bytes);
  return memory;
}

HugeMemory::HugeMemory(HugeMemory&& other) noexcept { *this = std::move(other); }

HugeMemory& HugeMemory::operator=(HugeMemory&& other) noexcept {
  if (this == &other) return *this;
  Release();
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  mapping_ = std::exchange(other.mapping_, nullptr);
  mapping_bytes_ = std::exchange(other.mapping_bytes_, 0);
  return *this;
}

HugeMemory::~HugeMemory() { Release(); }

void HugeMemory::Release() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

}  // namespace pdc
