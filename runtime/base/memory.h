// Large memory that costs nothing in a step: mapped once, on huge pages where the system has them, touched
// once.
#ifndef PDC_RUNTIME_BASE_MEMORY_H_
#define PDC_RUNTIME_BASE_MEMORY_H_

#include <cstddef>

#include "absl/status/statusor.h"

namespace pdc {

inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

// `value` rounded up to a multiple of `alignment`, a power of two.
constexpr size_t AlignUp(size_t value, size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

// Asks for huge pages under [data, data + bytes) and writes zeros to all of it, so that no page fault is left
// for later. A system without huge pages is not an error.
void TouchOnHugePages(void* data, size_t bytes);

// Zeroed, touched memory of this process; unmapped by the destructor.
class HugeMemory {
 public:
  // Aligned to 4096 bytes, and to 2 MiB when at least that large. Zero bytes give null memory.
  // RESOURCE_EXHAUSTED names the size when the system has no such memory.
  static absl::StatusOr<HugeMemory> Allocate(size_t bytes);

  HugeMemory() = default;
  HugeMemory(HugeMemory&& other) noexcept;
  HugeMemory& operator=(HugeMemory&& other) noexcept;
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;
  ~HugeMemory();

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void Release();

  std::byte* data_ = nullptr;  // within the mapping
  size_t bytes_ = 0;
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
};

}  // namespace pdc

#endif  // PDC_RUNTIME_BASE_MEMORY_H_
